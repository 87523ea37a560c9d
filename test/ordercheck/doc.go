// Package ordercheck is the referee: it watches a cluster and says whether any pod was bound before its turn.
//
// It is a judge independent of the engine it judges. It shares no code with it and reads no verdict of it; all it takes
// from the project are the API types.
//
// # The rule
//
// The referee reads the cluster's etcd and not its API server: etcd has all changes of all kinds in one order, that of
// their resource versions, and still has them when the API server has been killed and has forgotten them (package
// revisions). It records every change of pods, workloads, nodes, namespaces, PodSequences and their definition and replays them in that order. At each
// resource version
//
//   - a pod is a member of the first group of a sequence that names or selects it; terminating pods are no members. A group of a
//     ClusterPodSequence has the namespaces that it names or that have its labels at that moment;
//   - a group of names is satisfied when each named pod exists, is not terminating and has reached what is required: it is
//     ready (condition Ready is true, or phase Succeeded), or has succeeded; a pod that its kubelet ended has failed in any phase;
//   - a pod that must stay ready for a while counts as ready when it has been so for that long from the next full second, without a break:
//     for the group's minReadySeconds, or, if the group does not say and none of the pod's containers has a readiness probe, for as long
//     as the referee is told;
//   - a group by selector is satisfied when every workload whose template it selects has, by itself, as many such pods of
//     its current revision as it should have, and every other member is one, too. Of a StatefulSet only the ordinals count
//     that it should have. Pods that an earlier group has, and that have not failed, are not expected again. minAvailable
//     asks for less, and expectedPods for more. While a workload is being deleted, or, of a ClusterPodSequence, the namespace that it is in, it is not,
//     unless the workload is a complete Job;
//   - a group that must complete, and had when it was passed, stays satisfied while nothing of it is there that has not completed;
//   - a Job that failed, and a pod that failed and has no controller, is expected by its group by selector when it is deleted,
//     until it has a successor: one of its name, or of the same CronJob or purpose and newer. A Job of the group that was created after
//     a Job failed, and has completed, makes up for it, whether the failed Job is still there or not. A sequence that skips the group,
//     passes it permanently or takes the object out of it does not mind it any more;
//   - a group that waits for objects is satisfied when its members satisfy it, if it has any, and the status of the sequence records
//     each object as Satisfied with the until that the spec has. The referee takes the record for the fact, from the resource version on
//     at which it was written, and checks by itself that it can be true, see below;
//   - on a node, a group is satisfied when it has a member there, all that it has there are such pods, and every DaemonSet
//     that it selects and that should run there has a pod there that has not failed. What a pod reached before the Node
//     object was created does not count. A group is skipped where its nodeSelector does not match;
//   - a pod that has not succeeded and whose node is deleted is not such a pod;
//   - a group is passed when it has been satisfied for its wait without a break, or has timed out and goes on, and all groups
//     ahead of it are passed. Ahead of a group are those that it depends on and those ahead of these; without dependsOn all that
//     are listed before it.
//
// A violation is a governed pod whose spec.nodeName became non-empty at a resource version before which some group ahead of
// its own was neither passed nor skipped, or whose group a suspended sequence had not released. Governed are pods of our schedulers, and pods
// of others that lost the sequence's gate while it was in force. Across the cluster one of the latter is fine, too, if it was
// released in order when it lost the gate: after that nobody can hold it.
//
// A pod may also require a sequence. Its label (v1alpha1.SequenceLabel) names a PodSequence of its namespace; or the namespace requires one
// (v1alpha1.RequireSequenceAnnotation) of all pods of our schedulers. A violation is a pod of our schedulers that was bound while there was no
// such PodSequence, or no sequence in force that had the pod, and a pod that was bound after it lost the last of our gates while there was no
// PodSequence of the name on its label. Nothing is required while the kind PodSequence is not installed, nor of the programs of PodSequence,
// nor of a pod that was created with its node.
//
// # Records of objects
//
// A record that comes to say Satisfied of an object is false if no version that etcd had of the object, up to the resource version of
// the status, has the UID and the generation on the record, is not being deleted, and is as required. Exists asks for nothing more, a
// condition must be True. Current is read in a simple way that never asks for more than kstatus, by which the controller goes: conditions
// and counters may not say plainly that the object is not ready. The referee looks the versions up in etcd when it sees the status,
// whatever kind they are of, and also if the object is gone. A false record is a violation (Verdict.FalseRecords).
//
// The record may be late: it is enough that the object was so at any time. A version that is stored in another API version than the
// one on the record is taken for satisfied, as nobody knows how it is converted. When the referee cannot know, it believes the record
// and counts it (Verdict.UncheckedRecords): etcd has compacted the versions, the object is of an API server of its own, or it may have
// been deleted before the watch began. Records from before the watch are believed.
//
// # Edits and modes
//
// By BootstrapOnly the pass of a group holds permanently while it and the groups ahead of it are defined as they were; an edit
// that is taken back restores it. A group with skip is passed as any other, and nobody waits for it meanwhile; when the skip is
// taken back, those behind it wait for it unless it was passed. A dry run is never violated, unless it is suspended. Groups pass during it, and a pod that
// is bound then proves nothing. Another PodSequence of the same name starts from
// nothing. There resource versions alone decide, and nothing is allowed for. By Continuous, and on nodes, it is enough that each group ahead was passed at
// some moment of the 2 s before the binding.
//
// Annotations override a spec for a time: they suspend the sequence, or skip groups, as the spec would. That they begin or end to count
// is an edit.
//
// A sequence that points to another namespace is out of force while that namespace does not allow it. Consent that comes later
// brings it into force anew, as if it was created then, with what was passed before consent was withdrawn. What passed within
// 2 s after, a program may have recorded before it knew.
//
// When the labels of a namespace change which groups a ClusterPodSequence has there, that counts as an edit: what was passed
// stays passed, and pods that are older may race with it.
//
// # Time
//
// A time-out counts from the release of a group. Under Continuous, and on nodes, that is the latest one: a group that is held
// because an earlier one broke has all its time again when it is released anew, and so have all groups when a suspension is
// lifted. A group that was satisfied since it was released has no time-out any more, also when it breaks. What lasted no
// longer than 2 s the scheduler may have missed.
//
// A group is satisfied since the last of the pods that it needs turned ready, if that completed it, and otherwise since the
// event that did, such as a scale-down. A pod that is ready since another time than before broke in between, even if
// nobody saw it: a wait begins again, unless the other pods were enough.
//
// Resource versions have no times. Of each event the referee knows that it happened no later than it was heard of, and no
// earlier than the newest time that the API had written into any object by then, which is cut off to whole seconds. For a
// binding, condition PodScheduled says it more exactly. Of a wait, a time-out or a window the referee takes the bounds that
// speak for the scheduler: a pod that is bound less than a second or so too early is not found out, one that is bound
// seconds too early is.
//
// # Allowances
//
// A pod of our scheduler that had no gate any more when the sequence, or the edit, appeared, may have been on its way to a
// node. If it is bound within 2 s, it may also go by what was in force before. With Options.ExcusesUnseen, so may one that is
// created in the same moment, if it names no sequence and never had a gate: nothing holds it before the scheduler has seen its sequence. A group that passes within
// 2 s of a suspension counts as released before it. A scheduler that was stopped (SIGSTOP) does afterwards what it had
// decided before: whoever stops one tells the referee (Referee.SchedulerStopped), and these 2 s reach back to the stop.
// In the same way an API server that lags (Referee.Lagged) adds as much to these 2 s, as long as it serves a program of ours.
//
// A pod that is older than the moment in which the sequence that it requires went away, or in which it came to require one, may be bound or lose
// its gate within 2 s of that moment.
//
// A pod of another scheduler cannot be held without its gate. One that is older than a sequence, or than an edit, and lost its
// gate within 2 s after that appeared, is a violation like any other, but is marked (Violation.Raced): two writers have no
// transaction, so whoever lifts a gate cannot rule out that a sequence comes in the same moment.
//
// # What it cannot know
//
// A scheduler sees pods and workloads through watches of their own. Before a pass is recorded, whoever records it looks at what there
// is. But by Continuous, and on nodes, nothing is recorded: if a workload is scaled up milliseconds before another
// pod makes the old number complete, it may in good faith take the group for passed; the referee calls that a violation.
// How a node stood before the watch began is not known, so for 2 s nothing there is a violation.
//
// In the same way a scheduler that sees the last pod of a group become ready may not have seen yet that a status, written a moment
// before, takes back an object of the group. A pass that is recorded is added to the newest status only.
//
// What was bound before the watch began cannot be judged. A bound pod proves nothing by itself: it may have been bound before
// its sequence existed, by hand, or in a race. What was passed during the watch the referee knows. Of a sequence older than
// the watch it believes the passes that the status records at the start of the watch, of this sequence in status.passes under the
// hash that it has of a group of the present spec, or among its groups. It believes nothing that anybody writes later. The verdict counts
// passes that were believed and not seen as assumed.
//
// A verdict holds up to a fence: the revision that etcd is at when it is asked for, which the record must have caught up
// with. If a change may be missing, because etcd has compacted it before it was read, the verdict says so and is never
// clean.
package ordercheck
