package sequence

import (
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
)

// demand is a workload's part in one group: the group selects its pods by their template.
type demand struct {
	workload *workload
	sequence *sequence
	group    int

	// done has the members of the group that the workload owns and that are done, by when they turned ready. claimed counts those that an
	// earlier group has, by revision as well: which revision is the newest may change while the pods stay.
	done    readiness.TimesByRevision
	claimed map[string]int
	// namedBefore is how many of its pods' names earlier groups list, whether the pods exist or not.
	namedBefore int

	// entered is what the group state of the group has of it, and enteredAt when the last of the pods that it needs turned ready.
	entered   readiness.Demands
	enteredAt inventory.Timestamp
}

// demandIn is the workload's demand in a group; nil if the group does not select its pods.
func (s *sequence) demandIn(group int, w *workload) *demand {
	if w == nil {
		return nil
	}
	if part := w.demands[s]; part != nil && part.group == group {
		return part
	}
	return nil
}

// facts is what the rules of readiness look at.
func (d *demand) facts() readiness.Demand {
	w := &d.workload.Workload
	return readiness.Demand{
		Workload: w, Required: d.sequence.groups[d.group].Required, SeveralNamespaces: d.sequence.Cluster, NamedBefore: d.namedBefore,
		Claimed: readiness.Current(w, d.claimed), Done: d.done.Len(w),
	}
}

// refresh enters into the group state what has changed. That the same number of pods turned ready at another time, or that a Job
// completed whose pods were all done, changes only when the group is ready: it is no reason to look at the group.
func (d *demand) refresh() {
	now := d.facts().Sum()
	at := d.readyAt(now.Need)
	cluster, before, beforeAt := d.sequence.nodeless, d.entered, d.enteredAt
	d.entered, d.enteredAt = now, at
	if now != before {
		state := cluster.groupState(d.group)
		state.demands.Add(before, -1)
		state.demands.Add(now, +1)
	}
	if at != beforeAt || now.Need != before.Need {
		times := &cluster.find(d.group).demandsReadyAt
		times.Add(beforeAt, -min(before.Need, 1))
		times.Add(at, min(now.Need, 1))
	}
}

// readyAt is when so many pods of the workload had turned ready, or all if there are not so many. Of a complete Job any number had when it
// completed: nobody keeps its pods.
func (d *demand) readyAt(need int) inventory.Timestamp {
	switch w := &d.workload.Workload; {
	case need == 0:
		return 0
	case w.Complete:
		return inventory.TimestampOf(w.CompletedAt)
	default:
		return d.done.When(w, need)
	}
}

// addReadyTimes adds when the pods turned ready that the workload needs.
func (d *demand) addReadyTimes(times *readiness.Times) {
	if w := &d.workload.Workload; w.Complete {
		times.Add(d.enteredAt, d.entered.Need)
	} else {
		times.AddFirst(d.entered.Need, d.done.Current(w))
	}
}

// withdraw takes the demand out of the group state.
func (d *demand) withdraw() {
	if cluster := d.sequence.nodeless; cluster != nil {
		state := cluster.groupState(d.group)
		state.demands.Add(d.entered, -1)
		state.demandsReadyAt.Add(d.enteredAt, -min(d.entered.Need, 1))
	}
	d.entered, d.enteredAt = readiness.Demands{}, 0
}

// countNames counts the pods of the workload that earlier groups list by name.
func (d *demand) countNames() {
	d.namedBefore = readiness.NamedBefore(&d.workload.Workload, d.names(), d.group)
}

// names are the groups that name pods where the workload lives.
func (d *demand) names() map[string][]int { return d.sequence.Names(d.workload.Namespace) }

// countDone and countClaimed enter a pod of the workload, or take it out.
func (d *demand) countDone(revision string, readyAt inventory.Timestamp, sign int) {
	d.done.Add(revision, readyAt, sign)
	d.refresh()
}

func (d *demand) countClaimed(p *pod, revision string, sign int) {
	if readiness.IsClaimed(&d.workload.Workload, p.Pod, d.names(), d.group) {
		bump(&d.claimed, revision, sign)
		d.refresh()
	}
}

// touch marks for re-evaluation the domain that counts the demand. In scope Node none does.
func (d *demand) touch(tx *transaction) {
	if !d.sequence.PerNode {
		tx.touch(d.sequence.nodeless)
	}
}

// update enters what has changed, and marks the domain for re-evaluation. completed says that the workload is a Job that has
// completed just now: the Job itself says since when the group is satisfied.
func (d *demand) update(completed bool, tx *transaction) {
	if d.sequence.PerNode {
		return
	}
	d.refresh()
	if completed && d.entered.Need > 0 {
		state := d.sequence.nodeless.groupState(d.group)
		state.turned = latest(state.turned, d.workload.CompletedAt)
	}
	d.touch(tx)
}

// unplace takes the workload out of all sequences.
func (all *workloads) unplace(w *workload, tx *transaction) {
	for _, demand := range w.demands {
		all.withdrawDemand(demand, tx)
	}
}

func (all *workloads) withdrawDemand(demand *demand, tx *transaction) {
	w, s := demand.workload, demand.sequence
	delete(w.demands, s)
	delete(s.groups[demand.group].demands, demand)
	if !s.PerNode {
		demand.withdraw()
		tx.touch(s.nodeless)
		return
	}
	for name := range w.due {
		tx.touchGroup(s.domains[name], demand.group)
	}
	all.forgetDue(w)
}
