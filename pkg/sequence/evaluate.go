package sequence

import (
	"time"

	"example.com/podsequence/pkg/sequence/readiness"
)

// facts are what the rules of readiness look at.
func (d *domain) facts(i int) readiness.Group {
	g, state := d.sequence.groups[i], d.peek(i)
	facts := readiness.Group{Group: g.Group, Members: &state.sums, Demands: &state.demands, Objects: g.objects, OnNode: d.isNode()}
	if facts.OnNode {
		facts.MissingOnNode, facts.GoingOnNode = d.missing(g)
		facts.Unmet = d.unmet(g)
	} else if len(d.sequence.failures) > 0 {
		facts.Lost = d.sequence.lost(i)
	}
	facts.OthersSatisfied = state.othersSatisfied
	facts.Finished = d.Completed.Has(i) && !d.isUnfinished(i)
	return facts
}

// need works out what the group waits for in this domain.
func (d *domain) need(i int) readiness.Need {
	facts := d.facts(i)
	need := facts.Need()
	if need.Lost > 0 {
		need.Lost = len(d.lostIn(i)) // of the others it is said what makes up for them
	}
	need.Trials = d.trialsOf(i)
	if need.Unmet != 0 && d.node != nil {
		need.Lacks = readiness.UnmetText(d.sequence.groups[i].NodeConditions, &d.node.Node)
	}
	return need
}

// evaluate works out anew the groups that the transaction may have changed. It must come before advance.
func (d *domain) evaluate(k *knowledge) {
	othersSatisfied := true
	for _, state := range d.groupStates {
		g := d.sequence.groups[state.group]
		if g.IsRest && state.othersSatisfied != othersSatisfied {
			state.othersSatisfied, state.dirty = othersSatisfied, true
		}
		if !d.evaluated || state.dirty {
			need, satisfied := d.evaluateGroup(state.group)
			d.settleGroup(state, need, satisfied, k.now)
		}
		othersSatisfied = othersSatisfied && (state.satisfied || g.Skip)
	}
	d.evaluated = true
}

// evaluateGroup works out, from facts alone, what the group needs, and whether it has that.
func (d *domain) evaluateGroup(i int) (need readiness.Need, satisfied bool) {
	facts := d.facts(i)
	need = facts.Need()
	return need, !d.sequence.refused() && facts.IsSatisfied(need)
}

// settleGroup enters what a group needs now, and since when it is satisfied.
func (d *domain) settleGroup(state *groupState, need readiness.Need, satisfied bool, now time.Time) {
	if g := d.sequence.groups[state.group]; g.watchedSince.IsZero() {
		g.watchedSince = now.Truncate(time.Second)
	}
	facts := d.sinceFacts(state.group, satisfied, now)
	state.since = facts.Since(func() time.Time { return d.readySince(state.group) })
	state.satisfied, state.unmatched = satisfied, need.NothingMatches()
	state.unsatisfiedBefore, state.dirty, state.turned = false, false, time.Time{}
}

// sinceFacts are what the rule looks at that says since when a group is satisfied.
func (d *domain) sinceFacts(i int, satisfied bool, now time.Time) readiness.SinceFacts {
	state := d.peek(i)
	facts := readiness.SinceFacts{
		Satisfied: satisfied, Waits: d.sequence.groups[i].Wait > 0,
		FirstLook: !d.evaluated && state.since.IsZero() && !state.unsatisfiedBefore,
		Before:    state.satisfied, SinceBefore: state.since, Turned: state.turned,
		Now: now,
	}
	if facts.FirstLook {
		facts.Recorded, facts.IsRecorded = d.recordedSince(i)
		facts.RecordedAt = d.sequence.recordedAt()
	}
	return facts
}

// recordedSince is since when the group is satisfied as status says; zero if it says that the group is not. It is not known if
// status does not speak of the group as it is defined now. Of a node it speaks of one group.
func (d *domain) recordedSince(i int) (since time.Time, known bool) {
	since, known = d.recordedSatisfiedAt(i)
	if g := d.sequence.groups[i]; since.IsZero() && g.WithoutMembers && len(g.NodeConditions) == 0 {
		return time.Time{}, false // the same status says since when its objects are ready
	}
	return since, known
}

// recordedSatisfiedAt returns what status says of any group: recordedSince, also where the objects of the group say it themselves.
func (d *domain) recordedSatisfiedAt(i int) (since time.Time, known bool) {
	record := d.sequence.record(i)
	if !d.isNode() {
		return timeOf(record.SatisfiedAt), record.Hash != ""
	}
	node := d.sequence.nodeRecords[d.name]
	if node == nil || record.Hash == "" {
		return time.Time{}, false
	}
	switch index := d.sequence.recordIndex(i); {
	case index < int(node.CurrentIndex):
		return time.Time{}, false
	case index > int(node.CurrentIndex):
		return time.Time{}, true
	}
	if since = timeOf(node.SatisfiedAt); !since.IsZero() && since.Before(d.nodeCreatedAt()) {
		return time.Time{}, false // it speaks of another node of this name
	}
	return since, true
}

// readySince is when the last of the pods, objects and conditions of the node that the group needs turned ready, as they themselves say; zero if it needs none.
func (d *domain) readySince(i int) time.Time {
	return latest(d.podsReadySince(i), latest(d.sequence.groups[i].objects.Since(), d.conditionsSince(i)))
}

// podsReadySince is when the last of the pods that the group needs turned ready; zero if it needs none. Of each workload only as many pods
// count as are needed of it, the earliest.
func (d *domain) podsReadySince(i int) time.Time {
	g, state := d.sequence.groups[i], d.peek(i)
	if g.MinAvailable == nil {
		return max(state.readyAt.When(state.readyAt.Len()), state.demandsReadyAt.When(state.demandsReadyAt.Len())).Time()
	}
	needed := max(d.need(i).Required, 1)
	if state.readyAt.Len() == 0 && len(g.demands) == 1 {
		for part := range g.demands {
			return part.readyAt(min(needed, part.entered.Need), part.entered.Need).Time()
		}
	}
	return d.readyTimes(i).When(needed).Time()
}

// readyTimes are when the pods turned ready that count as done in a group, from whatever workload. They are only for reading. Where there
// are several workloads, all their pods are looked at.
func (d *domain) readyTimes(i int) *readiness.Times {
	state := d.peek(i)
	if state.demandsReadyAt.Len() == 0 {
		return &state.readyAt
	}
	times := &readiness.Times{}
	times.AddNext(0, state.readyAt.Len(), &state.readyAt)
	for part := range d.sequence.groups[i].demands {
		part.addReadyTimes(times)
	}
	return times
}
