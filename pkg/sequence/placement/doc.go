// Package placement says how far a sequence of scope Node is on a node, and so to which groups the node is open.
//
// The words: a standing is how far a sequence is in one domain. A node is open to a group if the sequence has released the group there. An
// empty node is one where a sequence has nothing.
package placement
