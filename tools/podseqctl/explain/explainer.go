package explain

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/podtrouble"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

// Explainer explains what a snapshot has.
type Explainer struct {
	*snapshot.Snapshot
	// Namespace is that of the user: names of objects in it are printed without it.
	Namespace string
	// All lists everything; otherwise long lists are cut.
	All bool

	path      []string // what is being explained
	explained map[string]bool
}

// Deadlock begins the message about something that waits for itself.
const Deadlock = "deadlock: everything above waits for this"

// maxListed bounds how many different reasons are listed below one.
const maxListed = 10

// Pod explains a pod.
func (e *Explainer) Pod(pod *corev1.Pod) Reason {
	r, expand := e.pod(pod, v1alpha1.PodGroup{})
	r.Because = append(expand(), e.brokenOrder(pod)...)
	return r
}

// Workload explains what the pods of a workload wait for. kind is as users write it.
func (e *Explainer) Workload(kind inventory.Kind, object metav1.Object) Reason {
	pods := e.Owned(object)
	r := e.Owner(string(kind), object.GetNamespace(), object.GetName(), pods)
	present, _ := splitReplaced(pods)
	if own := e.ownReasons(kind, object, len(present)); len(own) > 0 {
		r.State, r.Because = Held, append(own, r.Because...)
	}
	r.Because = append(r.Because, e.brokenOrder(present...)...)
	if job, ok := object.(*batchv1.Job); ok {
		if c := jobFailed(job); c != nil {
			_, replaced := splitReplaced(pods)
			r.State, r.Message = Stuck, fmt.Sprintf("failed (%s)%s; %s", c.Reason, podtrouble.Colon(c.Message), recreate(job))
			r.Because = e.replaced(replaced)
		}
	}
	return r
}

// Owner explains what the pods of an owner of any kind wait for.
func (e *Explainer) Owner(kind, namespace, name string, pods []*corev1.Pod) Reason {
	r := Reason{Subject: kind + " " + e.short(namespace, name), State: Done}
	var waiting []*corev1.Pod
	pods, replaced := splitReplaced(pods)
	for _, pod := range pods {
		if !isReady(pod) && !inventory.HasSucceeded(pod) && pod.DeletionTimestamp == nil {
			waiting = append(waiting, pod)
		}
	}
	if r.Message = fmt.Sprintf("%d of %d pods wait", len(waiting), len(pods)); len(waiting) > 0 {
		r.State, r.Because = Held, append(e.pods(waiting, v1alpha1.PodGroup{}), e.replaced(replaced)...)
	}
	return r
}

// Sequence explains what a sequence waits for.
func (e *Explainer) Sequence(s *snapshot.Sequence) Reason {
	status := e.Status(s)
	r := Reason{Subject: s.String(), State: Held, Message: fmt.Sprintf("%s, %s", phaseAndState(status.Phase, status.State, ", "), status.Message)}
	switch status.Phase {
	case "":
		said, late := s.Unwritten(e.Now)
		if r.State, r.Message = Waiting, said; late {
			r.State = Stuck
		}
	case v1alpha1.PhaseCompleted:
		r.State = Done
	}
	why, judged := e.Judged(s)
	if !judged {
		r.Because = append(r.Because, Reason{Subject: "details", State: Waiting, Message: why + ", so only the status of the sequence is shown"})
		return r
	}
	report, _ := e.Report(s)
	for _, problem := range report.Problems {
		r.Because = append(r.Because, Reason{Subject: problem.Reason, State: Stuck, Message: problem.Message})
	}
	if s.IsSuspended() {
		r.Because = append(r.Because, e.suspended(s))
	}
	if s.PerNode() {
		r.Because = append(r.Because, e.nodes(s, len(report.Groups), func(string) bool { return true })...)
		return r
	}
	for i := range report.Groups {
		if phase := status.Groups[i].Phase; phase == v1alpha1.GroupInProgress || phase == v1alpha1.GroupFailed {
			r.Because = append(r.Because, e.group(s, i))
		}
	}
	return r
}

// phaseAndState names the phase of a sequence, and its state if something is special about it.
func phaseAndState(phase v1alpha1.Phase, state, separator string) string {
	if state == "" || state == v1alpha1.StateActive {
		return string(phase)
	}
	return string(phase) + separator + state
}

func (e *Explainer) suspended(s *snapshot.Sequence) Reason {
	message := "it is suspended: no more pods are released"
	if c := findCondition(s.Status.Conditions, v1alpha1.ConditionSuspended); c != nil && c.Status == metav1.ConditionTrue {
		message = fmt.Sprintf("it has been suspended for %s: no more pods are released", e.ago(c.LastTransitionTime.Time))
	}
	if s.Spec.Suspend {
		message += "; to go on, set spec.suspend to false"
	} else {
		message += "; to go on, run kubectl podseq resume " + e.argument(s)
	}
	if s.Spec.DryRun {
		message += ": that releases all its pods at once, because spec.dryRun is true as well"
	}
	return Reason{Subject: s.String(), State: Stuck, Message: message}
}

// argument returns what names the sequence on a command line.
func (e *Explainer) argument(s *snapshot.Sequence) string {
	if !s.IsCluster() && s.Key().Namespace != e.Namespace {
		return s.Argument() + " -n " + s.Key().Namespace
	}
	return s.Argument()
}

// name names an object of a namespace, such as: StatefulSet db.
func (e *Explainer) name(kind string, object metav1.Object) string {
	return kind + " " + e.short(object.GetNamespace(), object.GetName())
}

func (e *Explainer) short(namespace, name string) string {
	if namespace == e.Namespace || namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// below explains something unless it is being explained already, further up. A circle never ends by itself.
func (e *Explainer) below(key, what string, explain func() Reason) Reason {
	if slices.Contains(e.path, key) {
		return Reason{Subject: what, State: Stuck, Message: Deadlock + ", and this waits for it; " +
			"change the order of one of the sequences, or skip one of the groups"}
	}
	if e.explained[key] {
		return Reason{Subject: what, State: Held, Message: "not passed, see above"}
	}
	if e.explained == nil {
		e.explained = map[string]bool{}
	}
	e.path = append(e.path, key)
	r := explain()
	e.path = e.path[:len(e.path)-1]
	e.explained[key] = true
	return r
}

// pods explains pods. Those that wait for the same are told of together.
func (e *Explainer) pods(pods []*corev1.Pod, group v1alpha1.PodGroup) []Reason {
	type alike struct {
		names  []string
		reason Reason
		expand func() []Reason
	}
	var all []*alike
	byMessage := map[string]*alike{}
	for _, pod := range pods {
		r, expand := e.pod(pod, group)
		key := string(r.State) + r.Message
		if byMessage[key] == nil {
			byMessage[key] = &alike{reason: r, expand: expand}
			all = append(all, byMessage[key])
		}
		byMessage[key].names = append(byMessage[key].names, e.short(pod.Namespace, pod.Name))
	}
	var reasons []Reason
	for i, each := range all {
		if i == maxListed && !e.All {
			reasons = append(reasons, Reason{Subject: "more", State: Held, Message: text.Count(len(all)-i, "more reason") + " why pods wait; --all lists them"})
			break
		}
		if len(each.names) > 1 {
			each.reason.Subject = "pods " + e.list(each.names)
		}
		each.reason.Because = each.expand()
		reasons = append(reasons, each.reason)
	}
	return reasons
}

// list lists names, the first few unless all are asked for.
func (e *Explainer) list(names []string) string {
	const most = 3
	if len(names) <= most || e.All {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
