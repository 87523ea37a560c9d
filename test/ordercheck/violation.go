package ordercheck

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
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

// String returns the violation as a sentence.
func (v Violation) String() string {
	if v.Group.Name == "" {
		return fmt.Sprintf("pod %s was bound to node %s at %s (resource version %s), but %s",
			v.Pod, v.Node, v.Time.Format("15:04:05.000"), v.ResourceVersion, v.Reason)
	}
	return fmt.Sprintf("pod %s was bound to node %s at %s (resource version %s), but it is in group %s of %s %s, %s: %s",
		v.Pod, v.Node, v.Time.Format("15:04:05.000"), v.ResourceVersion, v.Group.label, v.Kind, v.Sequence, v.charge, v.Reason)
}

// newViolation is that of a pod of a group which a version did not allow to be bound.
func newViolation(v *version, group int, b binding) Violation {
	awaited, _ := v.closed(group, b)
	out := b.violation()
	out.Kind, out.Sequence = v.kind, v.String()
	out.Group, out.Awaited = v.point(group), v.point(awaited)
	out.Raced = b.lifted[v.uid].raced
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
		out.Reason = nodeMuster{v.muster(awaited), v.world.nodes[out.Node]}.lacks()
	default:
		out.charge = fmt.Sprintf("and group %s had not been ready", label)
		out.Reason = v.muster(awaited).lacks()
	}
	if d := v.domainOf(b.pod); d != nil && !d.groups[awaited].passedUntil.IsZero() {
		out.Reason += fmt.Sprintf("; it was ready until %s", d.groups[awaited].passedUntil.Format("15:04:05.000"))
	}
	return out
}

func cut(reasons []string) []string {
	if more := len(reasons) - maxReasons; more > 0 {
		return append(reasons[:maxReasons:maxReasons], fmt.Sprintf("and %d more", more))
	}
	return reasons
}
