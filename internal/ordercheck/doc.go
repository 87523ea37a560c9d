// Package ordercheck is the referee: it watches a cluster and says whether any pod was bound before its turn.
//
// It is a judge independent of the engine it judges. It shares no code with it and reads no verdict of it; all it takes
// from the project are the API types.
//
// # The rule
//
// The referee reads the cluster's etcd and not its API server: etcd has all changes of all kinds in one order, that of
// their resource versions, and still has them when the API server has been killed and has forgotten them (package
// revisions). It records every change of pods and PodSequences and replays them in that order. At each resource version
//
//   - a pod is a member of the first group of a sequence that names or selects it; terminating pods are no members;
//   - a group of names is satisfied when each named pod exists, is not terminating and is ready (condition Ready is
//     true, or phase Succeeded); a group by selector when it has a member and all its members are ready;
//   - group i is passed once groups 0 to i-1 are passed and it is satisfied. A pass counts for ever, or until an edit
//     changes the members asked for in groups 0 to i. Another PodSequence of the same name starts from nothing.
//
// A violation is a governed pod whose spec.nodeName became non-empty at a resource version before which some group
// ahead of its own was not passed. Governed are pods of our schedulers and pods seen with the sequence's gate.
//
// # The one allowance
//
// A pod without the sequence's gate that is older than the sequence, or than the edit, may have been on its way to a
// node when that appeared. If it is bound within 2 s, it may also go by what was in force before.
// The 2 s are counted between the arrivals of the two events at the referee: a binding and an edit carry no timestamp
// of their own, those of the API are whole seconds, and both arrivals are read from one clock.
//
// # What it cannot know
//
// What was bound before the watch began cannot be judged. As the contract has it, a governed pod that is bound proves
// that the groups ahead of its own were passed, whenever a sequence meets it: at the start of the watch, when a sequence
// or an edit appears after the pod, or when a race excused it. A pod bound in violation proves nothing. For sequences
// older than the watch, the passes on record in the status at its start are believed too; nothing that the controller
// writes later is. All passes believed rather than seen are counted in the verdict as assumed.
//
// A verdict holds up to a fence: the revision that etcd is at when it is asked for, which the record must have caught up
// with. If a change may be missing, because etcd has compacted it before it was read, the verdict says so and is never
// clean.
package ordercheck
