package inventory

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/podgroups"
)

// Pod has the facts of a pod.
type Pod struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	CreatedAt       time.Time
	SchedulerName   string
	Labels          map[string]string
	Gates           []string

	Node        string // empty while it has none
	Terminating bool
	Failed      bool
	Succeeded   bool
	Ready       bool      // condition Ready, or succeeded
	ReadyAt     time.Time // when Ready last became true; zero while not ready

	// ProofMarks say which sequences released it, and in which groups; empty if nothing proves a release.
	ProofMarks []string

	Owner     OwnerReference
	PodGroups []podgroups.Reference // the PodGroups it names
	// Wants is where a pod may be placed; nil once it has a node.
	Wants *NodeRequirement
}

// OwnerReference is a pod's controller, as the pod names it.
type OwnerReference struct {
	UID types.UID // empty: it has none
	// Known reports whether it is of a kind in the table of workload kinds.
	Known bool
}

// ViewPod reads the facts of a pod.
func ViewPod(p *corev1.Pod) Pod {
	view := Pod{
		Namespace:       p.Namespace,
		Name:            p.Name,
		UID:             p.UID,
		ResourceVersion: p.ResourceVersion,
		CreatedAt:       p.CreationTimestamp.Time,
		SchedulerName:   p.Spec.SchedulerName,
		Labels:          p.Labels,
		Node:            p.Spec.NodeName,
		Terminating:     p.DeletionTimestamp != nil,
		Failed:          p.Status.Phase == corev1.PodFailed,
		Succeeded:       p.Status.Phase == corev1.PodSucceeded,
		ProofMarks:      proofMarks(p),
		PodGroups:       podgroups.Of(p),
	}
	for _, gate := range p.Spec.SchedulingGates {
		view.Gates = append(view.Gates, gate.Name)
	}
	if ref := metav1.GetControllerOfNoCopy(p); ref != nil {
		view.Owner = OwnerReference{UID: ref.UID, Known: isWorkload(ref)}
	}
	if view.Node == "" {
		view.Wants = &NodeRequirement{p.Spec.NodeSelector, p.Spec.Affinity, p.Spec.Tolerations}
	}
	view.Ready, view.ReadyAt = readiness(p)
	return view
}

// readiness reports whether the pod has what a group waits for, and since when: the Ready condition, or, for a pod that
// will never be Ready again because it did its work, phase Succeeded.
func readiness(p *corev1.Pod) (ready bool, since time.Time) {
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		return true, finishedAt(p)
	case corev1.PodFailed:
		return false, time.Time{} // the kubelet may leave a stale Ready condition behind
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return true, c.LastTransitionTime.Time
		}
	}
	return false, time.Time{}
}

// finishedAt is when the last container ended.
func finishedAt(p *corev1.Pod) time.Time {
	var last time.Time
	for i := range p.Status.ContainerStatuses {
		if t := p.Status.ContainerStatuses[i].State.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}

// Done reports whether the pod has reached what the status asks for.
func (p *Pod) Done(required v1alpha1.RequiredStatus) bool {
	if required == v1alpha1.RequireComplete {
		return p.Succeeded
	}
	return p.Ready
}

// Bound reports whether the pod has a node.
func (p *Pod) Bound() bool { return p.Node != "" }

// IsReplaced reports whether the pod failed and its controller replaces it.
func (p *Pod) IsReplaced() bool { return p.Failed && p.Owner.UID != "" }

// IsLost reports whether the pod failed and nobody replaces it.
func (p *Pod) IsLost() bool { return p.Failed && p.Owner.UID == "" }

// HasGate reports whether the pod carries a scheduling gate.
func (p *Pod) HasGate(name string) bool { return slices.Contains(p.Gates, name) }

// SameMembership reports whether both versions belong to the same groups of any sequences, and count there the same way.
func (p *Pod) SameMembership(other *Pod) bool {
	return p.Terminating == other.Terminating && p.Owner == other.Owner && maps.Equal(p.Labels, other.Labels) &&
		slices.Equal(p.PodGroups, other.PodGroups)
}

// CountsAs reports whether another version of the pod differs in nothing that any sequence looks at. To count it anew would take
// as long as it has sequences, and people may annotate pods as often as they like.
func (p *Pod) CountsAs(other *Pod) bool {
	return p.UID == other.UID && p.SameMembership(other) && p.Node == other.Node && p.SchedulerName == other.SchedulerName &&
		p.Failed == other.Failed && p.Succeeded == other.Succeeded && p.Ready == other.Ready &&
		p.ReadyAt.Equal(other.ReadyAt) && p.CreatedAt.Equal(other.CreatedAt) &&
		slices.Equal(p.Gates, other.Gates) && slices.Equal(p.ProofMarks, other.ProofMarks) &&
		p.Wants.Equal(other.Wants)
}

// proofMarks returns the marks of the proof on a pod: the annotation has the UID of the pod itself, so that a copy of the pod
// proves nothing, and then the marks.
func proofMarks(object *corev1.Pod) []string {
	fields := strings.Fields(object.Annotations[v1alpha1.ReleasedAnnotation])
	if len(fields) < 2 || fields[0] != string(object.UID) {
		return nil
	}
	return fields[1:]
}
