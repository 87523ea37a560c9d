package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/readiness"
)

// Where names a group in messages.
type Where struct {
	Index, Groups int // Index is 0-based
	Title         string
	Node          string // empty for the cluster
}

// String returns the name, such as: group 1/3 "Database" on node a.
func (w Where) String() string {
	text := fmt.Sprintf("group %d/%d %q", w.Index+1, w.Groups, w.Title)
	if w.Node != "" {
		text += " on node " + w.Node
	}
	return text
}

// PodFailed is about a group with pods that failed and that no controller replaces.
func PodFailed(where Where, pods []string) order.Problem {
	return order.Problem{Reason: v1alpha1.ReasonPodFailed, Message: fmt.Sprintf(
		"%s: %s failed, and no controller replaces %s: %s", where, first(pods), pronoun(pods), again(pods))}
}

// JobFailed is about a group with Jobs that failed. If anywhere is true, it names them with their namespaces.
func JobFailed(where Where, jobs []*inventory.Workload, anywhere bool) order.Problem {
	names, fixes := make([]string, len(jobs)), map[string]struct{}{}
	owned := false
	for i, job := range jobs {
		names[i] = FailedJob(job, anywhere)
		switch {
		case job.CronJob != "":
			fixes["create a newer Job with kubectl create job --from=cronjob/"+job.CronJob+", or wait for the next one"] = struct{}{}
		case job.OwnedBy != "":
			owned = true
			fixes["delete its owner, "+job.OwnedBy+", and create that again"] = struct{}{}
		}
	}
	fix := again(names) + ", or create another Job of this group"
	if len(fixes) > 0 {
		fix = first(slices.Collect(maps.Keys(fixes)))
		if !owned || len(fixes) > 1 {
			fix += "; " + again(names)
		}
	}
	return order.Problem{Reason: v1alpha1.ReasonJobFailed, Message: fmt.Sprintf("%s: %s: %s", where, first(names), fix)}
}

// Succeeding continues the text of a Need if a Job failed, and another one that was created later is to complete in its place.
func Succeeding(job *inventory.Workload, anywhere bool) string {
	return ", an earlier Job failed: it no longer counts when " + nameOfWorkload(job, anywhere) + " is complete"
}

// again says how to replace what failed and will not come back by itself.
func again(names []string) string {
	return fmt.Sprintf("delete %[1]s and create %[1]s again", pronoun(names))
}

func pronoun(names []string) string {
	if len(names) > 1 {
		return "them"
	}
	return "it"
}

// FailedJob names a Job that failed, and says why. If anywhere is true, it names the Job with its namespace.
func FailedJob(job *inventory.Workload, anywhere bool) string {
	return fmt.Sprintf("%s failed (%s)", nameOfWorkload(job, anywhere), job.Failure)
}

// nameOfWorkload names a workload as messages do; if anywhere is true, with its namespace.
func nameOfWorkload(w *inventory.Workload, anywhere bool) string {
	if anywhere {
		return fmt.Sprintf("%s %s/%s", w.Kind, w.Namespace, w.Name)
	}
	return w.String()
}

// TimedOut is about a group that holds those after it because its time is over. delays continues the text of what it needs.
func TimedOut(where Where, timeout time.Duration, need readiness.Need, delays string) order.Problem {
	return order.Problem{Reason: v1alpha1.ReasonPodsReadyTimeout, Message: fmt.Sprintf(
		"%s was not ready within %s: %s%s; later groups stay held until it is ready", where, timeout, need, delays)}
}

// WentOn is about a group that those after it did not wait for any longer. Its time-out may be another one by now.
func WentOn(where Where) order.Problem {
	return order.Problem{Reason: v1alpha1.ReasonPodsReadyTimeout, Message: fmt.Sprintf("%s was not ready in time: later groups started without it", where)}
}

// CrashLooping is about a group that was passed permanently, and whose pods crash. Without a probe some of them count as ready between two
// crashes.
func CrashLooping(where Where, pods []string, last, unprobed bool) order.Problem {
	text := fmt.Sprintf("%s was passed, but its %s", where, crash(pods))
	if !last {
		text += ", and later groups are not held again"
	}
	text += "; see kubectl logs --previous"
	if unprobed {
		text += ", and add a readinessProbe, so that such pods do not count as ready"
	}
	return order.Problem{Reason: v1alpha1.ReasonPodsCrashLooping, Message: text}
}

func crash(pods []string) string {
	slices.Sort(pods)
	if len(pods) == 1 {
		return "pod " + pods[0] + " crashes again and again"
	}
	return "pods " + first(pods) + " crash again and again"
}

// Ungoverned is about pods that must wait and that nothing can hold: they belong to another scheduler and carry no gate of the
// sequence.
func Ungoverned(pods []string, s *order.Sequence, schedulerNames []string) order.Problem {
	var fixes []string
	if len(schedulerNames) > 0 {
		fixes = append(fixes, "set schedulerName to "+strings.Join(schedulerNames, " or "))
	}
	if !s.PerNode && s.GateAllowed {
		fixes = append(fixes, "add the scheduling gate "+s.Gate)
	}
	fix := strings.Join(fixes, ", or ") + " in the pod template"
	switch {
	case len(fixes) > 1:
		fix = strings.Join(fixes, ", or ") + ", in the pod template"
	case len(fixes) == 0 && s.PerNode:
		fix = supportScopeNode(nil)
	case len(fixes) == 0:
		fix = "correct schedulingGateName, then add that scheduling gate in the pod template"
	}
	return order.Problem{Reason: v1alpha1.ReasonUngovernedPods, Message: fmt.Sprintf("%s cannot be held: %s", first(pods), fix)}
}

// UnsupportedScope is about a sequence of scope Node where no scheduler of ours runs.
func UnsupportedScope() order.Problem {
	return order.Problem{Reason: v1alpha1.ReasonUnsupportedScope, Message: "scope Node needs podsequence-scheduler, which is not part of this installation: gated pods stay gated; " +
		"install it, or use scope Cluster"}
}

// UnsupportedPods is about gated pods of a sequence of scope Node whose scheduler does not know on which nodes the sequence releases them.
func UnsupportedPods(pods, schedulerNames []string) order.Problem {
	return order.Problem{Reason: v1alpha1.ReasonUnsupportedScope, Message: fmt.Sprintf(
		"pods of another scheduler stay gated (%s): only podsequence-scheduler supports scope Node, and the scheduler of a pod cannot be changed; %s",
		first(pods), supportScopeNode(schedulerNames))}
}

// supportScopeNode says how pods come to podsequence-scheduler. The controller cannot do it: the API server refuses to change the scheduler
// of a pod, and another scheduler would place the pod on a node that is not ready for it.
func supportScopeNode(schedulerNames []string) string {
	if len(schedulerNames) == 0 {
		return "podsequence-scheduler is not part of this installation: install it, or use scope Cluster"
	}
	return fmt.Sprintf("set schedulerName to %s in the pod template; create a pod without a template again", strings.Join(schedulerNames, " or "))
}

// OutdatedPods is about pods as of OutdatedPod.
func OutdatedPods(pods []string) order.Problem {
	return order.Problem{Reason: v1alpha1.ReasonPodsOutdated, Message: first(pods)}
}

// OutdatedPod names a pod that is of an older revision of its StatefulSet and that is not replaced.
func OutdatedPod(name string, set *inventory.Workload) string {
	return "pod " + name + " " + Outdated(set)
}

// Outdated says of a pod that it is of an older revision of its StatefulSet and that is not replaced it.
func Outdated(set *inventory.Workload) string {
	return fmt.Sprintf("is of an older revision of %s, which does not replace it before it is ready: delete it", set)
}

// SplitPodGroups is about PodGroups that have pods in several groups.
func SplitPodGroups(names []string) order.Problem {
	return order.Problem{Reason: v1alpha1.ReasonGangSplit, Message: fmt.Sprintf(
		"%s has pods in several groups: its pods are scheduled together, so these groups wait for each other; put all its pods into one group", first(names))}
}

// StarvedByQuota is about a group whose workload a ResourceQuota refuses pods, while so many pods of later groups are held in its namespace.
// anywhere is as of nameOfWorkload.
func StarvedByQuota(where Where, w *inventory.Workload, anywhere bool, held int) order.Problem {
	pods, count := fmt.Sprintf("%d pods of later groups are held and count", held), "them"
	if held == 1 {
		pods, count = "1 pod of a later group is held and counts", "it"
	}
	return order.Problem{Reason: v1alpha1.ReasonWaitsForItself, Message: fmt.Sprintf(
		"%s: %s lacks pods, because they exceed quota %s, where %s, too: raise the quota, or scale down what owns %s until this group is ready",
		where, nameOfWorkload(w, anywhere), w.QuotaExceeded, pods, count)}
}

// PausedWorkloads says which paused Deployments keep a group from being ready. It is empty for none, and else continues the
// text of a Need. If anywhere is true, it names them with their namespaces.
func PausedWorkloads(paused []*inventory.Workload, anywhere bool) string {
	if len(paused) == 0 {
		return ""
	}
	texts := make([]string, len(paused))
	for i, w := range paused {
		name := nameOfWorkload(w, anywhere)
		texts[i] = fmt.Sprintf("%s is paused: set its spec.paused to false", name)
		if w.Pause.By != "" {
			texts[i] = fmt.Sprintf("%s is paused by DeploymentCoordination %s until its turn", name, w.Pause.By)
		}
	}
	return ", " + first(texts)
}

// Uncounted says of which DaemonSets more pods are ready than their controllers count where they are due. It is empty for none, and else
// continues the text of a Need. If anywhere is true, it names them with their namespaces.
func Uncounted(sets []readiness.Demand, anywhere bool) string {
	if len(sets) == 0 {
		return ""
	}
	texts := make([]string, len(sets))
	for i, set := range sets {
		texts[i] = fmt.Sprintf("the controller of %s counts %d of the %d that it wants as ready",
			nameOfWorkload(set.Workload, anywhere), set.ReadyWhereDue(), set.Workload.Expected)
	}
	return ", " + first(texts)
}

// first names the first few. It sorts its argument.
func first(names []string) string { return firstOf(names, 3, ", ") }

// firstOf names so many. It sorts its argument.
func firstOf(names []string, most int, separator string) string {
	slices.Sort(names)
	text := strings.Join(names[:min(most, len(names))], separator)
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
