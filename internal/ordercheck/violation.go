package ordercheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxReasons keeps the line of a violation readable.
const maxReasons = 5

// Violation is one pod bound before its turn.
type Violation struct {
	// Pod is the namespace/name of the pod.
	Pod string `json:"pod"`
	// PodUID tells it from others of its name.
	PodUID types.UID `json:"podUID"`
	// Node is where it was bound to.
	Node string `json:"node"`
	// ResourceVersion is that of the binding.
	ResourceVersion string `json:"resourceVersion"`
	// Time is when the referee saw the binding.
	Time time.Time `json:"time"`
	// Sequence is the namespace/name of the PodSequence that should have held it.
	Sequence string `json:"sequence"`
	// Group is the group the pod belongs to.
	Group Group `json:"group"`
	// Awaited is the first group ahead of it that had not been passed.
	Awaited Group `json:"awaited"`
	// Reason says what the awaited group lacked.
	Reason string `json:"reason"`
}

// Group points at a group of a sequence.
type Group struct {
	// Index counts from 0.
	Index int `json:"index"`
	// Name is the group's name, or "Group <n>" with n from 1.
	Name string `json:"name"`
	// label is how a sentence calls it.
	label string
}

// String tells the violation in a sentence.
func (v Violation) String() string {
	return fmt.Sprintf("pod %s was bound to node %s at %s (resource version %s), but it is in group %s of PodSequence %s, "+
		"and group %s had not been ready: %s",
		v.Pod, v.Node, v.Time.Format("15:04:05.000"), v.ResourceVersion, v.Group.label, v.Sequence, v.Awaited.label, v.Reason)
}

func (v *version) violation(group int, p *pod, e event, w *world) Violation {
	return Violation{
		Pod:             p.String(),
		PodUID:          p.uid,
		Node:            p.node,
		ResourceVersion: e.revision.String(),
		Time:            e.arrived,
		Sequence:        v.String(),
		Group:           v.point(group),
		Awaited:         v.point(v.passed),
		Reason:          v.lacks(w),
	}
}

func (v *version) point(group int) Group {
	return Group{Index: group, Name: v.groups[group].name, label: v.groups[group].label}
}

// lacks says why the first group not passed is not.
func (v *version) lacks(w *world) string {
	if v.best.of == 0 {
		return "no pod had matched it"
	}
	names := v.groups[v.passed].names
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(v.members[v.passed].readiness))
	}
	var reasons []string
	for _, name := range names {
		if reason := w.whyNotReady(v.target, name); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	if more := len(reasons) - maxReasons; more > 0 {
		reasons = append(reasons[:maxReasons], fmt.Sprintf("and %d more", more))
	}
	summary := fmt.Sprintf("%d of %d pods ready at best", v.best.ready, v.best.of)
	if len(reasons) == 0 {
		return summary + "; now no pod matches it"
	}
	return summary + "; " + strings.Join(reasons, ", ")
}

// whyNotReady returns nothing for a pod that is ready.
func (w *world) whyNotReady(namespace, name string) string {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	p := w.get(namespace, name)
	switch {
	case p == nil && w.seen.Has(key):
		return name + " was gone"
	case p == nil:
		return name + " had never existed"
	case p.terminating:
		return name + " was terminating"
	case p.ready:
		return ""
	case w.wasReady.Has(key):
		return name + " was no longer ready"
	}
	return name + " had never been ready"
}
