// Package sequence is the one implementation of what a PodSequence means: who belongs to which group, what is
// satisfied, and whether a pod may go now, or why not.
//
// An Engine is fed with what the API server says, object by object, and answers questions. It has no client, no clock
// and no logger, so that the same history gives the same answers in the scheduler, in the controller and in tests.
//
// Invariants, checked against a deliberately naive oracle in the tests:
//
//   - A pod belongs to at most one group of a sequence: the first that names or selects it.
//   - Groups are passed in order, and a pass is only lost when the definition of the group, or of one before it, changes.
//   - A pod may go when, in every sequence it belongs to, all groups before its own are passed.
//   - Every Apply or Remove reports exactly the pods it let go: those that could not go before and can now.
//   - The cost of a pod's event depends on the groups it belongs to and on the pods it lets go, and on nothing else.
package sequence
