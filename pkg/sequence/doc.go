// Package sequence is the one implementation of what a PodSequence means: who belongs to which group, what is expected
// and satisfied, and whether a pod may be scheduled now, and to which nodes, or why not.
//
// An Engine takes events in: what the API server says, object by object, and the time. It settles what follows from them, and
// publishes the differences. It has no client, no clock and no logger, so that the same history gives the same answers in the
// scheduler, in the controller and in tests.
//
// # Floors
//
// Each package below has one job. Imports run down only, which the linter checks.
//
//	sequence      the Engine: transactions, domains, what is published
//	report        status, messages and problems from what the engine has worked out
//	confirmation  what must be known before something that looks satisfied counts
//	placement     scope Node: which nodes are open to which pods
//	progress      which groups are passed and released, since when, and when time alone will change that
//	readiness     whether a group is satisfied, since when, and what is missing: one file a rule
//	hold          whether a sequence holds a pod, and what a suspension releases
//	inventory     what the API said of pods, workloads and nodes; the table of workload kinds
//	spec          a PodSequence compiled: groups, predecessors, selectors, problems
//
// # Files
//
// The files of this package build on each other, too, from the top of this list down. What is in one line may be mutual. A test sees to it.
//
//	engine.go                                 what tells the Engine of an event
//	verdict.go, unlisted.go, interest.go, interest_of.go
//	                                          what the scheduler, the controller and the feed ask
//	apply_namespace.go                        one event of each kind: it changes facts, and marks what follows from them
//	apply_sequence.go
//	apply_pod.go
//	apply_workload.go
//	apply_node.go
//	members.go                                who belongs to a sequence, in a namespace
//	settle.go                                 what a transaction changed; that is published
//	report.go, explain.go                     what status and people are told
//	decision.go
//	publish.go                                what the scheduler may read
//	dryrun.go, outoforder.go, podgroup.go     what one feature keeps
//	judge.go                                  what a pod may do now
//	advance.go                                which groups are passed
//	evaluate.go                               which groups are satisfied, and since when
//	revisions.go                              which revision of a workload is the newest
//	contribution.go                           what pods and workloads add to the sums of groups
//	due.go                                    on which nodes DaemonSets should have a pod, and have one
//	confirm.go, progress_facts.go             what must be known before something counts
//	failures.go                               which members failed and are gone
//	equivalenceclass.go, pin.go, room.go      who may use which node
//	domain.go                                 a sequence in the cluster or on a node
//	questions.go                              what was asked, and what is known of the answers
//	pods.go, workloads.go                     what is known of one kind of thing
//	sequences.go, nodes.go
//	transaction.go                            what one event changes
//	published.go
//	changes.go
//	state.go, world.go, settings.go           the types: what follows from facts, the facts, and what the operator decides
//	names.go, index.go
//
// The type knowledge has everything. What the API server said is in world, which only the apply_ files change. What follows from it
// is settled once an event is entered.
//
// # Words
//
// A sequence is a PodSequence or a ClusterPodSequence. It reaches the namespaces where its groups may have members.
//
// A domain is where a sequence passes its groups in order: the cluster, or one node. A group waits for the groups that it
// depends on, and for theirs, but for those that are skipped. In a domain each group has a group state: the sums of its
// members, which are the pods that belong to it, and what follows from them. A member is done when it has reached what its group
// requires. A demand is what a workload wants of the group that selects the pods it owns. A DaemonSet is due on the nodes where it
// should have a pod. Unbound pods that may use the same nodes form an equivalence class; those that ask for one node have a
// pin. A transaction is one event: objects are entered one by one, and only then does the engine settle what that changes. A
// contribution is what a pod adds to the sums of a group.
// What looks satisfied is unconfirmed until it is known that no event is missing. Published is what readers see without
// waiting for an event. A verdict is what the engine says of one pod that has no node. An empty node is one where a sequence has
// nothing.
//
// # Invariants
//
// They are checked against a deliberately naive oracle in the tests:
//
//   - A pod belongs to at most one group of a sequence: the first that names or selects it.
//   - In a domain a group is passed after all groups that it waits for. In mode BootstrapOnly a pass is only lost when the
//     definition of the group, or of one before it, changes; in mode Continuous it lasts as long as the group is satisfied.
//   - A pod may be scheduled when, in every sequence it belongs to, all groups that its own waits for are passed: in the
//     cluster, or on some node that suits it.
//   - Every event reports the pods it released: those that had to wait before and need not now. What it reports of
//     pods is how their verdicts differ from those that were published, whatever the order in which they are looked at.
//   - The sums of every group are what the rules of readiness make of the facts, whatever the order of events.
//   - What is kept follows from the objects that there are: not from numbers in them, nor from what they once were, nor from
//     nodes where nothing of a sequence is.
//   - The cost of a pod's event depends on the groups it belongs to, on the equivalence classes that wait for its node, and on
//     the pods it releases, and on nothing else. Only what makes another revision of a workload the newest counts the workload's pods
//     anew, once in a rollout.
package sequence
