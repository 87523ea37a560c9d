package sequence

import (
	"math"
	"slices"
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/spec"
)

// facts are what the rules of readiness look at.
func (d *domain) facts(i int) readiness.Group {
	g, state := d.sequence.groups[i], d.peek(i)
	facts := readiness.Group{Group: g.Group, Members: &state.sums, Demands: &state.demands, Objects: g.objects, OnNode: d.isNode()}
	if facts.OnNode {
		facts.MissingOnNode, facts.GoingOnNode = d.missing(g)
		facts.Unmet = d.unmet(g)
	} else if d.sequence.mayHaveFailures() {
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
			d.evaluateGroup(state, k.now)
		}
		othersSatisfied = othersSatisfied && (state.satisfied || g.Skip)
	}
	d.evaluated = true
}

// evaluateGroup works out, from facts alone, what the group needs, whether it has that, and since when.
func (d *domain) evaluateGroup(state *groupState, now time.Time) {
	g, facts := d.sequence.groups[state.group], d.facts(state.group)
	if g.watchedSince.IsZero() {
		g.watchedSince = now.Truncate(time.Second)
	}
	need := facts.Need()
	since := readiness.SinceFacts{
		Satisfied: !d.sequence.refused() && facts.IsSatisfied(need), Waits: g.Wait > 0,
		FirstLook: !d.evaluated && state.since.IsZero() && !state.unsatisfiedBefore,
		Before:    state.satisfied, SinceBefore: state.since, Turned: state.turned, Now: now,
	}
	if since.FirstLook {
		since.Recorded, since.IsRecorded = d.recordedSince(state.group)
		since.RecordedAt = spec.WrittenAt(d.sequence.object)
	}
	state.enough = state.enough && since.Before && since.Satisfied && need.Required == state.required
	pods := time.Time{}
	state.since = since.Since(func() time.Time {
		if !state.enough {
			pods = d.podsReadySince(state.group)
		}
		return latest(pods, latest(g.objects.Since(), d.conditionsSince(state.group)))
	})
	state.enough = state.enough || (!pods.IsZero() && !pods.After(state.since))
	state.satisfied, state.required = since.Satisfied, need.Required
	state.unsatisfiedBefore, state.dirty, state.turned = false, false, time.Time{}
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

// podsReadySince is when the last of the pods that the group needs turned ready, as they themselves say; zero if it needs none. Of each
// workload only as many pods count as are needed of it. It takes a look at all members, so it is only asked where it matters.
func (d *domain) podsReadySince(i int) time.Time {
	g, state := d.sequence.groups[i], d.peek(i)
	times, surplus := make([]inventory.Timestamp, 0, len(state.members)), map[*demand][]inventory.Timestamp{}
	for _, counted := range []map[*pod]contribution{state.members, state.named} {
		for _, c := range counted {
			part := c.demand
			owned := c.ready && part != nil && part.group == i && !part.workload.Complete
			switch {
			case c.Ready, owned && part.done <= part.entered.Need:
				times = append(times, c.since)
			case owned:
				surplus[part] = append(surplus[part], c.since)
			}
		}
	}
	for part, ready := range surplus {
		times = append(times, part.needed(ready)...)
	}
	more := map[inventory.Timestamp]int{} // pods of complete Jobs, beside one of each: nobody keeps them
	for part := range g.demands {
		if at := inventory.TimestampOf(part.workload.CompletedAt); part.workload.Complete && part.entered.Need > 0 {
			times, more[at] = append(times, at), more[at]+part.entered.Need-1
		}
	}
	last, needed := inventory.Timestamp(0), math.MaxInt
	if g.MinAvailable != nil {
		needed = max(d.need(i).Required, 1)
		slices.Sort(times)
	}
	for _, at := range times {
		last = max(last, at)
		if needed -= 1 + more[at]; needed <= 0 {
			break
		}
		delete(more, at)
	}
	return last.Time()
}
