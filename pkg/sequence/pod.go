package sequence

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// pod is what the engine keeps of a pod. The labels and gates are shared with the object they came from: read only.
type pod struct {
	namespace, name string
	uid             types.UID
	resourceVersion string
	firstVersion    string // when the engine came to know it
	schedulerName   string
	labels          map[string]string
	gates           []string

	bound       bool
	terminating bool
	ready       bool
	readyAt     time.Time // when ready last became true; zero while not ready

	memberships []membership
}

// membership is a pod's place in one sequence.
type membership struct {
	sequence *sequence
	group    int
}

// viewPod extracts what matters here.
func viewPod(p *corev1.Pod) *pod {
	view := &pod{
		namespace:       p.Namespace,
		name:            p.Name,
		uid:             p.UID,
		resourceVersion: p.ResourceVersion,
		firstVersion:    p.ResourceVersion,
		schedulerName:   p.Spec.SchedulerName,
		labels:          p.Labels,
		bound:           p.Spec.NodeName != "",
		terminating:     p.DeletionTimestamp != nil,
	}
	for _, gate := range p.Spec.SchedulingGates {
		view.gates = append(view.gates, gate.Name)
	}
	view.ready, view.readyAt = readiness(p)
	return view
}

// readiness tells whether the pod has what a group waits for, and since when: the Ready condition, or, for a pod that
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

// sameMembership tells whether p and other belong to the same groups of any sequences.
func (p *pod) sameMembership(other *pod) bool {
	return p.terminating == other.terminating && maps.Equal(p.labels, other.labels)
}

// mayGo tells whether every sequence that has the pod lets it go.
func (p *pod) mayGo() bool {
	for _, m := range p.memberships {
		if m.group > m.sequence.current {
			return false
		}
	}
	return true
}

// liftable are the pod's gates that its sequences may lift.
func (p *pod) liftable() []string {
	var lift []string
	for _, gate := range p.gates {
		for _, m := range p.memberships {
			if m.sequence.gate == gate && m.sequence.gateAllowed {
				lift = append(lift, gate)
				break
			}
		}
	}
	return lift
}

func (p *pod) hasGate(name string) bool {
	for _, gate := range p.gates {
		if gate == name {
			return true
		}
	}
	return false
}

// newer tells whether version a of an object is later than version b. Versions that cannot be compared count as newer:
// dropping an event is worse than applying one twice.
func newer(a, b string) bool {
	if a == b {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}
