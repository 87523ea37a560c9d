// Package sequence is the one implementation of what a PodSequence means: who belongs to which group, what is expected
// and satisfied, and whether a pod may go now, and to which nodes, or why not.
//
// An Engine is fed with what the API server says, object by object, and with the time, and answers questions. It has no
// client, no clock and no logger, so that the same history gives the same answers in the scheduler, in the controller
// and in tests.
//
// The words: a sequence passes its groups in lanes, one for the cluster or one for each node. In a lane each group has a
// tally of its members. What workloads make of a group is a share of theirs. Unbound pods that may use the same nodes
// form a class; those that ask for one node only have a pin.
//
// Invariants, checked against a deliberately naive oracle in the tests:
//
//   - A pod belongs to at most one group of a sequence: the first that names or selects it.
//   - In a lane groups are passed in order. In mode BootstrapOnly a pass is only lost when the definition of the group, or
//     of one before it, changes; in mode Continuous it lasts as long as the group is satisfied.
//   - A pod may go when, in every sequence it belongs to, all groups before its own are passed: in the cluster, or on some
//     node that suits it.
//   - Every event reports exactly the pods it let go: those that could not go before and can now.
//   - What is kept follows from the objects that there are: not from numbers in them, nor from what they once were, nor from
//     nodes where nothing of a sequence is.
//   - The cost of a pod's event depends on the groups it belongs to, on the classes that wait for its node, and on the
//     pods it lets go, and on nothing else.
package sequence
