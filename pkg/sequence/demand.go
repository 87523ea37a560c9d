package sequence

import (
	"slices"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
)

// demand is a workload's part in one group: the group selects its pods by their template.
type demand struct {
	workload *workload
	sequence *sequence
	group    int

	// done counts its members of the group that the workload owns and that are done, and claimed those that an earlier group has. Both are
	// of its newest revision only, unless all revisions count.
	done, claimed int
	// namedBefore is how many of its pods' names earlier groups list, whether the pods exist or not.
	namedBefore int

	// entered is what the group state of the group has of it.
	entered readiness.Demands
	// counted reports that it will be settled at the end of this transaction, and completed that it is of a Job that completed in it.
	counted, completed bool
}

// facts is what the rules of readiness look at.
func (d *demand) facts() readiness.Demand {
	w, g := &d.workload.Workload, d.sequence.groups[d.group]
	return readiness.Demand{
		Workload: w, Required: g.Required, Condition: g.Condition, SeveralNamespaces: d.sequence.Cluster, NamedBefore: d.namedBefore,
		Claimed: d.claimed, Done: d.done, FailuresOverAt: d.sequence.groups[d.group].failuresOverAt,
	}
}

// endFailures ends the failures of the group that came before the workload, if that is a Job that has completed.
func (d *demand) endFailures(tx *transaction) {
	w, s, g := &d.workload.Workload, d.sequence, d.sequence.groups[d.group]
	if !w.Complete || s.PerNode || d.workload.demands[s] != d || !w.CreatedAt.After(g.failuresOverAt) {
		return
	}
	g.failuresOverAt = w.CreatedAt
	for other := range g.demands {
		if other.workload.Failed {
			other.mark(tx)
		}
	}
	s.failures.review(tx)
}

// mark marks the demand: what it adds to the sums is worked out anew.
func (d *demand) mark(tx *transaction) {
	if !d.counted {
		d.counted = true
		tx.demands = append(tx.demands, d)
	}
}

// settle brings what the demand adds to the sums up to the facts.
func (d *demand) settle() {
	d.counted = false
	if d.workload.demands[d.sequence] != d {
		return // it is withdrawn
	}
	facts := d.facts()
	facts.WaitsForNode = d.waitsForNode()
	now := facts.Sum()
	if d.put(now); d.completed && now.Need > 0 {
		state := d.sequence.nodeless.groupState(d.group)
		state.turned = latest(state.turned, d.workload.CompletedAt)
	}
	d.completed = false
}

// waitsForNode reports whether the workload is a DaemonSet that expects no pod only because no node is ready for it. Nodes are looked at only
// while it expects none: then it is one of nodeless.
func (d *demand) waitsForNode() bool {
	k, w := d.sequence.knowledge, d.workload
	if w.Kind != inventory.KindDaemonSet || w.Expected > 0 {
		delete(k.workloads.nodeless, w)
		return false
	}
	k.workloads.nodeless[w] = struct{}{}
	return readiness.WaitsForNode(&w.Workload, func(yield func(readiness.Prospect) bool) {
		for _, n := range k.nodes.byName {
			if !yield(w.prospectOf(n)) {
				return
			}
		}
	})
}

// put makes what the demand adds to the sums take the place of what it added before. Nothing else adds or subtracts it. If one more pod
// is ready, others are needed only of a DaemonSet that has too many, see needed.
func (d *demand) put(now readiness.Demands) {
	state, before := d.sequence.nodeless.find(d.group), d.entered
	state.enough = state.enough && now.Need == before.Need && !d.workload.Complete && (d.done <= now.Need || !d.facts().CountsWhereDue())
	if d.entered = now; now != before {
		state.dirty = true
		state.demands.Add(before, -1)
		state.demands.Add(now, +1)
	}
}

// needed returns those of its ready pods that are needed of it, if it has too many: the earliest. Of a DaemonSet they are the latest, because
// those that it has too many may be the earliest: where it is not due any more.
func (d *demand) needed(ready []inventory.Timestamp) []inventory.Timestamp {
	slices.Sort(ready)
	if d.facts().CountsWhereDue() {
		return ready[len(ready)-d.entered.Need:]
	}
	return ready[:d.entered.Need]
}

// countNames counts the pods of the workload that earlier groups list by name.
func (d *demand) countNames() {
	d.namedBefore = readiness.NamedBefore(&d.workload.Workload, d.names(), d.group)
}

// names are the groups that name pods where the workload lives.
func (d *demand) names() map[string][]int { return d.sequence.Names(d.workload.Namespace) }

// update marks the demand, and the domain that counts it. In scope Node none does. completed says that the workload is a Job that has
// completed just now: the Job itself says since when the group is satisfied.
func (d *demand) update(completed bool, tx *transaction) {
	if d.sequence.PerNode {
		return
	}
	d.completed = d.completed || completed
	d.mark(tx)
	tx.markDirty(d.sequence.nodeless)
}

// markOnNodes marks for re-evaluation the nodes where the DaemonSet is due or was.
func (d *demand) markOnNodes(tx *transaction) {
	for _, on := range d.sequence.domains {
		if on.node.isDue(d.workload) || on.find(d.group) != nil {
			tx.markGroupDirty(on, d.group)
		}
	}
}
