package sequence

import (
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/podgroups"
)

// pod is what the engine keeps of a pod. What it shares with the object it came from is read only.
type pod struct {
	namespace, name string
	uid             types.UID
	resourceVersion string
	firstSeen       Sighting // when the engine came to know it
	placed          Question // when what it belongs to last changed, in itself or in a sequence
	schedulerName   string
	labels          map[string]string
	gates           []string

	node        string // empty while unbound
	terminating bool
	failed      bool
	succeeded   bool
	ready       bool      // condition Ready, or succeeded
	readyAt     time.Time // when ready last became true; zero while not ready
	created     time.Time

	proof []string // by whom it was released, see proof.go

	owner owner
	gangs []podgroups.Reference // the PodGroups it names
	// wants is where an unbound pod may be placed; nil once it is bound.
	wants *placementSpec
	// class has the unbound pods with the same wants and the same places in sequences of node scope; nil for a pod that
	// no such sequence keeps from any node, and for one that is pinned.
	class *class
	pin   *pin

	memberships []membership // no element is ever written to: who reads what is published reads them too
	published   *publishedPod
}

// placementSpec is the part of a pod's spec that says which nodes suit it.
type placementSpec struct {
	nodeSelector map[string]string
	affinity     *corev1.Affinity
	tolerations  []corev1.Toleration
}

// owner is a pod's controller, as the pod names it.
type owner struct {
	uid types.UID // empty: it has none
	// known tells whether it is of a kind that the engine is told of.
	known bool
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
		firstSeen:       Sighting{Version: p.ResourceVersion},
		proof:           proofOf(p),
		placed:          Question{math.MaxUint64, p.ResourceVersion}, // until it is entered
		schedulerName:   p.Spec.SchedulerName,
		labels:          p.Labels,
		node:            p.Spec.NodeName,
		terminating:     p.DeletionTimestamp != nil,
		created:         p.CreationTimestamp.Time,
		failed:          p.Status.Phase == corev1.PodFailed,
		succeeded:       p.Status.Phase == corev1.PodSucceeded,
	}
	for _, gate := range p.Spec.SchedulingGates {
		view.gates = append(view.gates, gate.Name)
	}
	if ref := metav1.GetControllerOfNoCopy(p); ref != nil {
		view.owner = owner{uid: ref.UID, known: knownKind(ref)}
	}
	view.gangs = podgroups.Of(p)
	if view.node == "" {
		view.wants = &placementSpec{p.Spec.NodeSelector, p.Spec.Affinity, p.Spec.Tolerations}
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

// done tells whether the pod has reached what the status asks for.
func (p *pod) done(required v1alpha1.RequiredStatus) bool {
	if required == v1alpha1.RequireComplete {
		return p.succeeded
	}
	return p.ready
}

// bound tells whether the pod has a node.
func (p *pod) bound() bool { return p.node != "" }

// sameMembership tells whether p and other belong to the same groups of any sequences, and count there the same way.
func (p *pod) sameMembership(other *pod) bool {
	return p.terminating == other.terminating && p.owner == other.owner && maps.Equal(p.labels, other.labels) &&
		slices.Equal(p.gangs, other.gangs)
}

// countsAs reports whether another version of the pod differs in nothing that any sequence looks at. To count it anew would take
// as long as it has sequences, and people may annotate pods as often as they like.
func (p *pod) countsAs(other *pod) bool {
	return p.uid == other.uid && p.sameMembership(other) && p.node == other.node && p.schedulerName == other.schedulerName &&
		p.failed == other.failed && p.succeeded == other.succeeded && p.ready == other.ready &&
		p.readyAt.Equal(other.readyAt) && p.created.Equal(other.created) &&
		slices.Equal(p.gates, other.gates) && slices.Equal(p.proof, other.proof) &&
		p.wants.equal(other.wants)
}

// equal reports whether both say the same; either may be nil.
func (w *placementSpec) equal(other *placementSpec) bool {
	if w == nil || other == nil {
		return w == other
	}
	return maps.Equal(w.nodeSelector, other.nodeSelector) && equality.Semantic.DeepEqual(w.affinity, other.affinity) &&
		equality.Semantic.DeepEqual(w.tolerations, other.tolerations)
}

// liftable are the pod's gates that its sequences may lift.
func (p *pod) liftable() []string {
	var lift []string
	for _, gate := range p.gates {
		for _, m := range p.memberships {
			if m.sequence.Gate == gate && m.sequence.GateAllowed {
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
