package sequence

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/readiness"
)

// DefaultUnprobedReadySeconds is the default of both programs for Config.UnprobedReady, and MaxUnprobedReadySeconds the most that they take.
const (
	DefaultUnprobedReadySeconds = 5
	MaxUnprobedReadySeconds     = 3600
)

// Config is what the operator of the cluster decides.
type Config struct {
	// SchedulerNames are the profiles of our scheduler: pods with one of these names can be held without a gate.
	SchedulerNames []string
	// GatePrefixes are the beginnings of gate names that may be lifted.
	GatePrefixes []string
	// InstallationNamespace is where PodSequence itself runs; empty if that is not known. See order.IsSelectable and order.IsOwn.
	InstallationNamespace string
	// UnprobedReady is how long a pod without a readiness probe must have been Ready without a break before it counts as ready; 0 if
	// it counts at once.
	UnprobedReady time.Duration
	// ClusterScopeOnly reports that the engine does not see nodes: sequences of node scope are reported and release nothing.
	ClusterScopeOnly bool
}

// settings are what was decided, in the form in which it is asked for.
type settings struct {
	Config
	schedulerNames sets.Set[string]
}

func newSettings(config Config) settings {
	return settings{Config: config, schedulerNames: sets.New(config.SchedulerNames...)}
}

// isOurs reports whether our scheduler places the pod. No scheduler places a mirror pod, whatever its schedulerName says.
func (set *settings) isOurs(p *pod) bool { return !p.Mirror && set.schedulerNames.Has(p.SchedulerName) }

// governs reports whether a sequence can hold the pod: our scheduler places it, or a gate keeps it for the sequence.
func (set *settings) governs(p *pod, s *sequence) bool { return set.isOurs(p) || p.isGatedFor(s) }

// IsOwn reports whether the pod belongs to PodSequence itself: nothing holds it.
func (c *Config) IsOwn(pod *corev1.Pod) bool {
	return order.IsOwn(c.InstallationNamespace, pod.Namespace, labels.Set(pod.Labels))
}

// IsSelectable reports whether a namespaceSelector may select the namespace, if its labels match.
func (c *Config) IsSelectable(namespace string) bool {
	return order.IsSelectable(c.InstallationNamespace, namespace)
}

// liftable returns the gates of a pod that may be lifted when nothing holds it: those of its sequences, and, of a pod that names a
// PodSequence, the default gate, which it may have been given for that. Of a pod of PodSequence itself, and of one of a hook that no order
// concerns, these are all that anybody may lift, for it has no sequence that would.
func (set *settings) liftable(p *inventory.Pod, memberships []membership) []string {
	if len(p.Gates()) == 0 {
		return nil
	}
	isOwn := order.IsOwn(set.InstallationNamespace, p.Namespace, &p.Labels) || p.IsUnordered()
	isNamed := order.NamedSequence(&p.Labels) != ""
	var lift []string
	for _, gate := range p.Gates() {
		allowed := (isOwn || (isNamed && gate == v1alpha1.DefaultSchedulingGateName)) && order.IsGateAllowed(gate, set.GatePrefixes)
		if allowed || isLiftedBy(gate, memberships) {
			lift = append(lift, gate)
		}
	}
	return lift
}

// hasLiftableGate reports whether the pod carries a gate that a sequence may lift.
func (set *settings) hasLiftableGate(p *pod) bool {
	return slices.ContainsFunc(p.Gates(), func(gate string) bool { return order.IsGateAllowed(gate, set.GatePrefixes) })
}

// needs returns the pod's places that keep it from some nodes, sorted by sequence.
func (set *settings) needs(p *pod) []membership {
	var needs []membership
	for _, m := range p.memberships() {
		if set.holdFacts(p, m).Rule() == hold.ByNode {
			needs = append(needs, m)
		}
	}
	slices.SortFunc(needs, func(a, b membership) int { return compareKeys(a.sequence.Key, b.sequence.Key) })
	return needs
}

// Whether a pod may be scheduled is answered by holderOf, which has the rules of the package hold applied to every sequence of the pod.
// The facts for these rules are gathered here and nowhere else.

// holdFacts returns what decides whether the sequence holds the pod, but for whether the group is released. It needs no lock.
func (set *settings) holdFacts(p *pod, m membership) hold.Facts {
	f := m.holdFacts()
	if f.PerNode { // elsewhere nobody asks for the rest
		f.Ours, f.Gated, f.Blind = set.isOurs(p), p.isGatedFor(m.sequence), set.ClusterScopeOnly
		f.Placed = p.Bound() || p.Terminating
	}
	return f
}

// isLiftedBy reports whether some sequence may lift a gate.
func isLiftedBy(gate string, memberships []membership) bool {
	return slices.ContainsFunc(memberships, func(m membership) bool { return m.sequence.Gate == gate && m.sequence.GateAllowed })
}

// MinReady returns how long a pod must have been Ready without a break before it counts as ready in a group; 0 if it counts at once.
func (c *Config) MinReady(pod *corev1.Pod, group *v1alpha1.PodGroup) time.Duration {
	facts, g := inventory.ViewPod(pod), order.Group{Required: group.RequiredStatus, Condition: group.RequiredCondition}
	if group.MinReadySeconds != nil {
		minReady := time.Duration(*group.MinReadySeconds) * time.Second
		g.MinReady = &minReady
	}
	return readiness.MinReady(&facts, &g, c.UnprobedReady)
}

// releasesUnseen reports whether the sequence releases such a pod.
func (set *settings) releasesUnseen(view *pod, m membership) bool {
	facts := set.holdFacts(view, m)
	facts.Released = m.sequence.publishedOn("").released.Has(m.group)
	return facts.Rule() == hold.Free
}

// published returns what is published of a pod with a UID; zero if nothing is.
func (set *settings) published(p *publishedPod, uid types.UID) verdict {
	if p == nil || p.UID != uid {
		return verdict{}
	}
	v := verdict{held: p.held.Load(), reason: p.reason, needs: p.needs(), opened: p.opened}
	if !v.held {
		v.lift = set.liftable(p.Pod, p.memberships())
	}
	return v
}

// ungoverned returns the pods of groups that wait for others and that nothing can hold. Once a group need not wait any more, none counts
// while pods that started out of order are reported: that has the fix.
func (set *settings) ungoverned(s *sequence, outOfOrder bool) (names []string) {
	for _, d := range s.domains {
		for i, g := range s.groups {
			if g.Awaited == 0 {
				continue
			}
			reached := d.Reached.Has(i)
			for p := range d.peek(i).members {
				if !(reached && outOfOrder) && set.isUnheld(p, s, reached) {
					names = append(names, s.nameOf(p))
				}
			}
		}
	}
	return names
}

// isUnheld reports whether nothing can hold a pod or, if a known workload owns it, those that will be made like it: they belong to another
// scheduler and carry no gate of ours. A pod that was released carries none any more. That it did this program may have seen; or its
// template says so; or, where no scheduler is ours, its label, for which pods are given the gate. Of any other pod nobody knows, and it
// counts until its group need not wait. Mirror pods are left out: nothing in them or their files would make anybody hold them.
func (set *settings) isUnheld(p *pod, s *sequence, reached bool) bool {
	labelled := len(set.SchedulerNames) == 0 && order.NamedSequence(&p.Labels) != ""
	wasHeld := (p.GateLifted || labelled) && (reached || p.Bound())
	if wasHeld || p.Mirror || p.IsReplaced() || (reached && p.Succeeded) || set.governs(p, s) {
		return false
	}
	w := s.knowledge.workloads.ownerOf(p).workload
	if w == nil {
		return !reached
	}
	return !set.schedulerNames.Has(w.SchedulerName) && !slices.Contains(w.Gates, s.Gate) &&
		(w.Labels[v1alpha1.SequenceLabel] == "" || !slices.Contains(w.Gates, v1alpha1.DefaultSchedulingGateName))
}
