package sequence

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
)

// dryRun is what a sequence would have held in its dry run until it released the groups of the pods.
type dryRun struct {
	total   int
	longest time.Duration
}

// A sequence with spec.dryRun holds nothing, but it has members, and passes its groups as any other. While it is suspended it holds its
// pods as if it had no dry run. Which pods it would hold is worked out on demand: the members of groups that are not released, if
// they have no node, or got it since the group was closed to them. When a group is released, they are added to the total. Nothing is
// decided by that.

// noteReleases adds the pods that a domain would have held until now to those of its dry run.
func (k *knowledge) noteReleases(d *domain, before publishedDomain) {
	dry := d.sequence.dry
	if dry == nil || before.unpublished {
		return
	}
	held := report.DryRun{Longest: dry.longest}
	for i := range (d.Released &^ before.released).All() {
		k.countHeld(&held, d, i, before.lost.Time())
	}
	dry.total, dry.longest = dry.total+len(held.Pods), held.Longest
}

// reportDryRun is what status says of a dry run.
func (k *knowledge) reportDryRun(s *sequence) *report.DryRun {
	r := &report.DryRun{Longest: s.dry.longest}
	for _, d := range s.domains {
		for _, state := range d.groupStates {
			if hasNone := s.PerNode && !d.isNode(); hasNone || !d.Released.Has(state.group) {
				k.countHeld(r, d, state.group, d.lastLost())
			}
		}
	}
	slices.Sort(r.Pods)
	r.Total = s.dry.total + len(r.Pods)
	return r
}

// countHeld adds the members of a group to a report that the sequence holds while the group is not released, or would hold. lost is when a
// group of the domain was last lost.
func (k *knowledge) countHeld(r *report.DryRun, d *domain, group int, lost time.Time) {
	s := d.sequence
	closed := latest(latest(s.created, s.groups[group].editedAt), lost)
	for p := range d.peek(group).members {
		if k.wouldHold(p, membership{s, group}, closed) {
			r.Pods = append(r.Pods, s.nameOf(p))
			r.Longest = max(r.Longest, k.now.Sub(latest(p.CreatedAt.Time(), closed)))
		}
	}
}

// wouldHold reports whether a sequence would hold a pod but for its dry run, as long as its group is not released. closed is since when it
// is not. Of a pod that has a node it is unknown whether it was pinned to it: those of DaemonSets are.
func (k *knowledge) wouldHold(p *pod, m membership, closed time.Time) bool {
	governed := p.GateLifted || k.settings.governs(p, m.sequence)
	if !governed || p.Terminating || p.Bound() && p.BoundAt.Time().Before(closed.Truncate(time.Second)) {
		return false
	}
	facts := k.settings.holdFacts(p, m)
	facts.DryRun, facts.Placed = false, false
	switch rule := facts.Rule(); {
	case rule != hold.ByNode:
		return rule != hold.Free
	case p.Bound():
		owner := k.workloads.ownerOf(p).workload
		return owner != nil && owner.Kind == inventory.KindDaemonSet
	}
	return p.Pin().IsOne() && !k.unplaced.openOnPin(p.Pin(), m)
}

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

// awaits returns for which groups a planned pod waits in a sequence, apart from those of the pods that are created with it. It waits for
// none, but is held, in a suspension.
func (k *knowledge) awaits(p planned, m membership, own order.GroupSet) (groups order.GroupSet, held bool) {
	governed := p.named || k.settings.governs(p.pod, m.sequence)
	if !governed || k.holdFacts(p.pod, m).Rule() != hold.ByGroup {
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
	missing order.Missing
}

func (k *knowledge) plan(object *corev1.Pod) planned {
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

// missingHold is what holds a pod that waits for a sequence that does not exist.
func (p planned) missingHold() Hold {
	key := types.NamespacedName{Namespace: p.Namespace}
	if p.missing == order.NamedMissing {
		key.Name = order.NamedSequence(&p.Labels)
	}
	return Hold{Sequence: key, Missing: p.missing}
}
