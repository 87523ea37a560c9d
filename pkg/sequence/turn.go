package sequence

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// Turn says whether it is the turn of pods that are created together.
type Turn struct {
	// Hold is what they wait for. Its Paused is empty.
	Hold Hold
	// Groups are the 0-based indices of the groups of that sequence that they wait for and that are under way.
	Groups []int
}

// String says in words what they wait for.
func (t Turn) String() string {
	if t.Hold.Group == "" {
		return t.Hold.String()
	}
	return fmt.Sprintf("%s until %s is passed", report.NameOf(t.Hold.Sequence), t.Hold.Group)
}

// Turn says what pods wait for that are created together or not at all, such as those of one workload in a queue, and that do not
// exist yet. It holds them as long as a sequence holds one of them, waits and confirmations included, see WouldHold for the rest.
// A group to which some of the pods belong themselves does not hold the others: it cannot become ready before they are created.
func (e *Engine) Turn(objects []*corev1.Pod) Turn {
	e.mu.RLock()
	defer e.mu.RUnlock()

	pods, own := make([]planned, 0, len(objects)), map[*sequence]spec.GroupSet{}
	for _, object := range objects {
		p := e.plan(object)
		if p.missing != spec.NothingMissing {
			return Turn{Hold: p.missingHold()}
		}
		for _, m := range p.memberships() {
			groups := own[m.sequence]
			groups.Add(m.group)
			own[m.sequence] = groups
		}
		pods = append(pods, p)
	}
	var holding *sequence
	var waits spec.GroupSet
	for _, p := range pods {
		for _, m := range p.memberships() {
			groups, held := e.turnOf(p, m, own[m.sequence])
			if held && (holding == nil || less(m.sequence.Key, holding.Key)) {
				holding, waits = m.sequence, groups
			}
		}
	}
	if holding == nil {
		return Turn{}
	}
	turn := Turn{Hold: Hold{Sequence: holding.Key}, Groups: slices.Collect(waits.All())}
	if waits != 0 {
		turn.Hold.Group = holding.describeGroup(waits.First())
	}
	return turn
}

// turnOf returns for which groups a planned pod waits in a sequence, apart from those of the pods that are created with it. It waits for
// none, but is held, in a suspension.
func (k *knowledge) turnOf(p planned, m membership, own spec.GroupSet) (groups spec.GroupSet, held bool) {
	if !p.governedBy(m.sequence, &k.settings) || k.holdFacts(p.pod, m).Rule() != hold.ByGroup {
		return 0, false
	}
	waits := m.sequence.nodeless.waitsFor(m.group)
	groups = waits &^ own
	return groups, waits == 0 || groups != 0
}

// planned is a pod that is about to be created, such as one of a pod template. It has no name: no group names it.
type planned struct {
	*pod
	// named reports that its label names a sequence: a policy gives the pod our scheduler, or the gate.
	named bool
	// missing is a sequence that it will wait for and that does not exist.
	missing spec.Missing
}

func (k *knowledge) plan(object *corev1.Pod) planned {
	p := planned{pod: viewPod(object)}
	if ns := k.namespaces[object.Namespace]; ns != nil {
		p.setMemberships(ns.place(p.pod))
	}
	p.named = spec.NamedSequence(&p.Labels) != ""
	join := k.published.existing.join(p.pod, len(p.memberships()) > 0, &k.settings)
	join.Gated = join.Gated || p.named
	p.missing = join.Missing()
	return p
}

// missingHold is what holds a pod that waits for a sequence that does not exist.
func (p planned) missingHold() Hold {
	key := types.NamespacedName{Namespace: p.Namespace}
	if p.missing == spec.NamedMissing {
		key.Name = spec.NamedSequence(&p.Labels)
	}
	return Hold{Sequence: key, Missing: p.missing}
}

// governedBy reports whether the sequence can hold the pod once it is created.
func (p planned) governedBy(s *sequence, set *settings) bool { return p.named || set.governs(p.pod, s) }

// describeGroup names a group for people.
func (s *sequence) describeGroup(group int) string {
	return fmt.Sprintf("group %d/%d %q", group+1, len(s.groups), s.groups[group].Title)
}
