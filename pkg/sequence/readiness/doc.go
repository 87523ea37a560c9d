// Package readiness says whether a group is satisfied, since when, and what is missing. Its rules are functions of facts:
// they remember nothing, and do not know how the facts are kept up to date. Each rule has a file.
//
//	member.go       a pod that counts by itself, or by name
//	demand.go       what one workload wants of a group, and how much of it is there
//	deployment.go   which pods of a Deployment are of its newest template
//	statefulset.go  pods that a StatefulSet should have, and that an earlier group names
//	daemonset.go    where a DaemonSet should have a pod
//	job.go          what is different about Jobs
//	group.go        the group as a whole: what it needs, and whether it is satisfied
//	since.go        since when
//
// The words: a member is a pod that belongs to the group. A demand is what a workload wants of the group whose pods it owns.
// Sums add up what single members and demands give: a group is the sum of its parts, so that whoever keeps sums up to date
// may add and subtract parts in any order.
package readiness
