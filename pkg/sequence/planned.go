package sequence

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
)

// Hold is what would keep pods from being scheduled that do not exist yet. The zero value keeps none.
type Hold struct {
	// Sequence is the PodSequence that would hold them. When several would, it is the first by namespace and name. If Missing says
	// so, it does not exist, and has no name if any would do.
	Sequence types.NamespacedName
	Missing  order.Missing
	// Group names the first group that they wait for, such as: group 1/2 "Database". It is empty when they would wait for nothing but
	// the end of a suspension.
	Group string
	// Groups are the 0-based indices of the groups of that sequence that they wait for and that are under way.
	Groups []int
	// Paused are the Deployments of these groups that are paused and lack pods, sorted.
	Paused []types.NamespacedName
}

// Held reports whether the pods would be held.
func (h Hold) Held() bool { return h.Sequence != types.NamespacedName{} }

// String says in words what would hold the pods.
func (h Hold) String() string {
	switch {
	case !h.Held():
		return ""
	case h.Missing == order.NamedMissing:
		return fmt.Sprintf("%s, which does not exist", report.NameOf(h.Sequence))
	case h.Missing == order.AnyMissing:
		return fmt.Sprintf("namespace %s, which requires a PodSequence that selects them", h.Sequence.Namespace)
	case h.Group == "":
		return fmt.Sprintf("%s, which is suspended", report.NameOf(h.Sequence))
	}
	return fmt.Sprintf("%s until %s is passed", report.NameOf(h.Sequence), h.Group)
}

// planned is a pod that is about to be created, such as one of a pod template. It has no name: no group names it.
type planned struct {
	*pod
	// named reports that its label names a sequence: a policy gives the pod our scheduler, or the gate.
	named bool
	// missing is a sequence that it will wait for and that does not exist.
	missing order.Missing
}

func newPlanned(k *knowledge, object *corev1.Pod) planned {
	p := planned{pod: viewPod(object)}
	if ns := k.namespaces[object.Namespace]; ns != nil {
		p.setMemberships(ns.place(p.pod))
	}
	p.named = order.NamedSequence(&p.Labels) != ""
	join := k.published.existing.join(p.pod, len(p.memberships()) > 0, &k.settings)
	join.Gated = join.Gated || p.named
	p.missing = join.Missing()
	return p
}

// awaits returns for which groups the pod waits in a sequence, apart from those of the pods that are created with it. It waits for
// none, but is held, in a suspension.
func (p planned) awaits(m membership, own order.GroupSet) (groups order.GroupSet, held bool) {
	k := m.sequence.knowledge
	governed := p.named || k.settings.governs(p.pod, m.sequence)
	if !governed || k.holdFacts(p.pod, m).Rule() != hold.ByGroup {
		return 0, false
	}
	waits := m.sequence.nodeless.waitsFor(m.group)
	groups = waits &^ own
	return groups, waits == 0 || groups != 0
}

// missingHold is what holds a pod that waits for a sequence that does not exist.
func (p planned) missingHold() Hold {
	key := types.NamespacedName{Namespace: p.Namespace}
	if p.missing == order.NamedMissing {
		key.Name = order.NamedSequence(&p.Labels)
	}
	return Hold{Sequence: key, Missing: p.missing}
}
