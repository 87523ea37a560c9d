package ordercheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// maxReasons keeps the line of a violation readable.
const maxReasons = 5

// Violation is one pod bound before its turn.
type Violation struct {
	// Pod is the namespace/name of the pod.
	Pod string `json:"pod"`
	// PodUID distinguishes it from others of its name.
	PodUID types.UID `json:"podUID"`
	// Node is where it was bound to.
	Node string `json:"node"`
	// ResourceVersion is that of the binding.
	ResourceVersion string `json:"resourceVersion"`
	// Time is when the referee saw the binding.
	Time time.Time `json:"time"`
	// Kind is PodSequence or ClusterPodSequence, or Namespace if that requires a sequence and none has the pod.
	Kind string `json:"kind"`
	// Sequence is the one that should have held it: namespace/name, or the name of a ClusterPodSequence or Namespace.
	Sequence string `json:"sequence"`
	// Group is the group the pod belongs to; none if it is in no group, but requires a sequence that does not exist.
	Group Group `json:"group,omitzero"`
	// Awaited is the first group ahead of it that had not been passed; its own group if a suspended sequence had not
	// released it; none if Group is none.
	Awaited Group `json:"awaited,omitzero"`
	// Reason says what the awaited group lacked, or which sequence did not exist.
	Reason string `json:"reason"`
	// Raced says that the pod, of another scheduler than ours, is older than what the sequence says and lost its gate within 2 s of
	// that. Nobody can lift a gate and see in the same moment that no sequence has just come.
	Raced bool `json:"raced,omitempty"`
	// charge is what the pod did wrong, as part of a sentence.
	charge string
}

// Group points at a group of a sequence.
type Group struct {
	// Index counts from 0.
	Index int `json:"index"`
	// Name is the group's name, or "Group <n>" with n from 1.
	Name string `json:"name"`
	// DependsOn are the names of the groups that it depends on, if it says so itself; only in timelines.
	DependsOn []string `json:"dependsOn,omitzero"`
	// label is how a sentence calls it.
	label string
}

// String returns the violation as a sentence.
func (v Violation) String() string {
	if v.Group.Name == "" {
		return fmt.Sprintf("pod %s was bound to node %s at %s (resource version %s), but %s",
			v.Pod, v.Node, v.Time.Format("15:04:05.000"), v.ResourceVersion, v.Reason)
	}
	return fmt.Sprintf("pod %s was bound to node %s at %s (resource version %s), but it is in group %s of %s %s, %s: %s",
		v.Pod, v.Node, v.Time.Format("15:04:05.000"), v.ResourceVersion, v.Group.label, v.Kind, v.Sequence, v.charge, v.Reason)
}

func (v *version) violation(group int, b binding, w *world) Violation {
	awaited, _ := v.closed(group, b)
	out := Violation{
		Pod:             b.pod.String(),
		PodUID:          b.uid,
		Node:            b.podFacts.node,
		ResourceVersion: b.event.revision.String(),
		Time:            b.event.arrived,
		Kind:            v.kind,
		Sequence:        v.String(),
		Group:           v.point(group),
		Awaited:         v.point(awaited),
		Raced:           b.lifted[v.uid].raced,
	}
	label := v.groups[awaited].label
	switch d := v.domainOf(b.pod); {
	case awaited == group:
		out.charge = "which is suspended"
		out.Reason = "it had not released group " + label + " before"
	case d != nil && d.groups[awaited].satisfied:
		out.charge = fmt.Sprintf("and the wait of group %s was not over", label)
		out.Reason = fmt.Sprintf("ready since %s, to wait for %s from the next full second",
			d.groups[awaited].since.Format("15:04:05"), v.groups[awaited].wait)
	case d != nil && !d.groups[awaited].ripeAt.IsZero():
		out.charge = fmt.Sprintf("and group %s had not been ready for long enough", label)
		out.Reason = fmt.Sprintf("its pods count as ready from %s", d.groups[awaited].ripeAt.Format("15:04:05"))
	case v.perNode:
		out.charge = fmt.Sprintf("and group %s had not been ready on that node", label)
		out.Reason = strings.Join(cut(v.lacksOn(out.Node, awaited, w)), ", ")
	default:
		out.charge = fmt.Sprintf("and group %s had not been ready", label)
		out.Reason = v.lacks(awaited, w)
	}
	if d := v.domainOf(b.pod); d != nil && !d.groups[awaited].passedUntil.IsZero() {
		out.Reason += fmt.Sprintf("; it was ready until %s", d.groups[awaited].passedUntil.Format("15:04:05.000"))
	}
	return out
}

func (v *version) point(group int) Group {
	return Group{Index: group, Name: v.groups[group].name, label: v.groups[group].label}
}

// lacks says why a group is not passed.
func (v *version) lacks(group int, w *world) string {
	reasons := v.lacksOf(group, w)
	best := v.cluster.groups[group].best
	if v.groups[group].memberless {
		return strings.Join(cut(reasons), ", ")
	}
	if best.of == 0 && len(reasons) == 0 {
		return "no pod had matched it"
	}
	var pods []types.NamespacedName
	for _, name := range v.groups[group].names {
		pods = append(pods, types.NamespacedName{Namespace: v.groups[group].home.names[0], Name: name})
	}
	if len(pods) == 0 {
		pods = slices.SortedFunc(maps.Keys(v.members[group].readiness), func(a, b types.NamespacedName) int {
			return strings.Compare(a.String(), b.String())
		})
	}
	for _, pod := range pods {
		if reason := w.whyNot(pod, v.groups[group].reached); reason != "" {
			reasons = append(reasons, v.callPod(pod)+" "+reason)
		}
	}
	if least := v.groups[group].atLeast; best.ready < least {
		reasons = append(reasons, fmt.Sprintf("it expects at least %d", least))
	}
	summary := fmt.Sprintf("%d of %d pods ready at best", best.ready, best.of)
	if len(reasons) == 0 {
		return summary + "; now no pod matches it"
	}
	return summary + "; " + strings.Join(cut(reasons), ", ")
}

func cut(reasons []string) []string {
	if more := len(reasons) - maxReasons; more > 0 {
		return append(reasons[:maxReasons:maxReasons], fmt.Sprintf("and %d more", more))
	}
	return reasons
}

// callPod is how messages call a pod: with its namespace if the sequence has several.
func (v *version) callPod(pod types.NamespacedName) string {
	if v.isCluster() {
		return pod.String()
	}
	return pod.Name
}

// call is how messages call a workload.
func (v *version) call(f *workloadFacts) string { return f.kind + " " + v.callPod(f.NamespacedName) }

// whyNot returns nothing for a pod that has reached what is required.
func (w *world) whyNot(key types.NamespacedName, reached v1alpha1.RequiredStatus) string {
	p := w.get(key.Namespace, key.Name)
	switch {
	case p == nil && w.seen.Has(key):
		return "was gone"
	case p == nil:
		return "had never existed"
	case p.terminating:
		return "was terminating"
	case p.has(reached):
		return ""
	case p.podFacts.has(reached):
		return "was on a node that was gone"
	case isMark(reached):
		return whyNoMark(reached)
	case reached == v1alpha1.RequireComplete:
		return "had not succeeded"
	case w.wasReady.Has(key):
		return "was no longer ready"
	}
	return "had never been ready"
}
