// Package sequence is the one implementation of what a PodSequence means: who belongs to which group, what is expected
// and satisfied, and whether a pod may be scheduled now, and to which nodes, or why not.
//
// An Engine takes events in: what the API server says, object by object, and the time. It settles what follows from them, and
// publishes the differences. It has no client, no clock and no logger, so that the same history gives the same answers in the
// scheduler, in the controller and in tests.
//
// # Floors
//
// Each package below has one job. Imports run down only, which the linter checks. Callers of the Engine speak in the words of report,
// inventory and order. The rules, which are all other packages, they do not know.
//
//	sequence      the Engine: transactions, domains, what is published
//	report        status, messages and problems from what the engine has worked out
//	progress      which groups are passed and released, since when, and when time alone will change that
//	readiness     whether a group is satisfied, since when, and what is missing: one file a rule
//	hold          whether a sequence holds a pod, and what a suspension releases
//	inventory     what the API said of pods, workloads and nodes; the table of workload kinds
//	order         a PodSequence compiled: groups, predecessors, selectors, problems
//
// The type knowledge has everything. What the API server said is in world, which only methods named apply, remove and replace change. What follows
// from it is settled once an event is entered.
//
// # Words
//
//	sequence          a PodSequence or a ClusterPodSequence
//	domain            where a sequence passes its groups in order: the cluster, or one node
//	group state       one group in one domain: its members, and the sums of what they add
//	member            a pod in its group; it is done when it has reached what the group requires
//	contribution      what a member adds to the sums
//	demand            what a workload wants of the group that selects its pods
//	due               of a DaemonSet: the nodes where it should have a pod
//	pin               the one node that a pod asks for
//	transaction       one event: what it entered, and what must be settled because of it
//	ripe              to be passed once status records it
//	verdict           what the engine says of one pod that has no node
//	published         what readers see without waiting for an event
//
// # Invariants
//
// A naive oracle checks them in the tests, over random histories. In the examples db and web are the groups of a sequence, in that order.
//
//   - A pod belongs to at most one group of a sequence: the first that names or selects it. If db lists the pod web-0, and web selects
//     its labels, it is a member of db, and waits for nothing.
//   - In a domain a group is passed after all groups that it waits for. In mode BootstrapOnly it is passed once status records it, and
//     that is only lost when the definition of the group, or of one before it, changes: if a pod of db fails later, web goes on. In mode
//     Continuous it lasts as long as the group is satisfied: new pods of web wait again.
//   - A pod may be scheduled when all groups that its own waits for are passed, in every sequence it belongs to: in the cluster, or on
//     the node that it asks for. One that asks for none is tried, and Filter keeps it from nodes that are not open. If another sequence has
//     web-0 in its first group, that one does not hold it, and this one does.
//   - An event reports the pods that it released: those whose published verdict was that they wait, and now is that they need not. If
//     one event completes db, and the same event makes web-0 wait for a second sequence, web-0 is not reported.
//   - The sums of a group are what the rules of readiness make of the facts, whatever the order of events. Whether the Deployment of db
//     comes before its pods or after them, db lacks the same number of pods.
//   - What is kept follows from the objects that there are. A sequence over 5,000 nodes has 5,001 domains: these nodes', and that of
//     pods without a node.
//   - What a pod's event costs depends on the groups it belongs to and on the pods that it releases. 10,000 pods of web may wait while a pod
//     of db becomes ready, as long as another pod of db is missing. Two exceptions: what completes a group looks at all its members, to say
//     since when, and what makes another revision of a workload the newest counts the workload's pods anew, once in a rollout.
package sequence
