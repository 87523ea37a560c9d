// Package placement says which nodes are open to which pods while sequences of node scope keep them from some. Its rules are
// functions of facts and of how far a sequence is on each node.
//
// The words: a standing is how far a sequence is in one domain. The state of a node says what it is to pods of one group: not
// suitable, closed, on the way, or open. An empty node is one where a sequence has nothing.
package placement
