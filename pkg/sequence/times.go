package sequence

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/readiness"
)

// Times come from the API: from the pods' conditions, from the creation of objects, and from status, where the controller
// records what objects do not say any more. What the engine itself saw is only used where nothing is recorded yet, so that a
// restart makes a wait or a time-out end later, but never earlier.

// satisfiedSince is since when the group is satisfied, without a break as far as anything says. turned is the latest Ready
// time of the pods whose readiness this event brought; zero if it was something else that completed the group.
func (d *domain) satisfiedSince(i int, satisfied bool, e *Engine) time.Time {
	g, state := d.sequence.groups[i], d.peek(i)
	switch {
	case !satisfied:
		return time.Time{}
	case !d.evaluated && state.since.IsZero():
		return d.sinceFirstSight(i, e)
	case !state.satisfied && state.turned.IsZero():
		return latest(e.now.Truncate(time.Second), clamp(d.readySince(i, e), e.now))
	case !state.satisfied:
		return clamp(latest(state.turned, d.readySince(i, e)), e.now)
	case g.Wait > 0 && state.turned.After(state.since):
		// A pod that is needed turned ready again: there was a break, even if only its end was seen.
		return latest(state.since, clamp(d.readySince(i, e), e.now))
	}
	return state.since
}

// sinceFirstSight is since when a group is satisfied that is satisfied when it is first looked at.
func (d *domain) sinceFirstSight(i int, e *Engine) time.Time {
	since, ready := time.Time{}, d.readySince(i, e)
	switch recorded, known := d.recordedSince(i); {
	case !known:
		since = ready
	case !recorded.IsZero():
		if since = recorded; d.sequence.groups[i].Wait > 0 {
			since = latest(since, ready)
		}
	case ready.After(d.sequence.recordedAt()):
		since = ready
	default:
		// The pods were ready when status said that the group was not. Whatever completed it since, nothing says when.
		since = e.now
	}
	if since.IsZero() {
		since = e.now
	}
	return clamp(since, e.now).Truncate(time.Second)
}

// recordedSince is since when the group is satisfied as status says; zero if it says that the group is not. It is not known if
// status does not speak of the group as it is defined now. Of a node it speaks of one group.
func (d *domain) recordedSince(i int) (since time.Time, known bool) {
	record := d.sequence.record(i)
	if !d.isNode() {
		return timeOf(record.SatisfiedAt), record.Hash != ""
	}
	node := d.sequence.nodeRecords[d.name]
	if node == nil || record.Hash == "" || i < int(node.CurrentIndex) {
		return time.Time{}, false
	}
	if i > int(node.CurrentIndex) {
		return time.Time{}, true
	}
	return timeOf(node.SatisfiedAt), true
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// readySince is when the last of the pods that the group needs turned ready, as the pods themselves say; zero if it needs
// none.
func (d *domain) readySince(i int, e *Engine) time.Time {
	g, times := d.sequence.groups[i], d.readyTimes(i, e)
	k := times.Pods()
	if g.MinAvailable != nil {
		k = min(k, max(d.need(i).Required, 1))
	}
	return times.When(k)
}

// readyTimes are when the pods turned ready that count as done: of each workload only as many as are needed of it.
func (d *domain) readyTimes(i int, e *Engine) readiness.Times {
	s := d.sequence
	g := s.groups[i]
	var times readiness.Times
	if g.Selector == nil && !d.isNode() {
		for j := range i + 1 { // a pod that this group names may start with an earlier one
			for p := range d.peek(j).members {
				if _, named := g.Names[p.Name]; named && p.Done(g.Required) {
					times.Add(p.ReadyAt.Time(), 1)
				}
			}
		}
		return times
	}
	ofShare := map[*demand]readiness.Times{}
	for p := range d.peek(i).members {
		if !d.isDone(p, g) {
			continue
		}
		owner := e.workloads.ownerOf(p)
		part := s.demandIn(i, owner.workload)
		switch {
		case d.isNode(), part == nil && !owner.unseen:
			times.Add(p.ReadyAt.Time(), 1)
		case part != nil && readiness.Expects(&part.workload.Workload, &p.Pod, owner.revision):
			ofShare[part] = append(ofShare[part], readiness.Time{At: p.ReadyAt.Time(), Pods: 1})
		}
	}
	if d.isNode() {
		return times
	}
	for part := range g.demands {
		if part.workload.Complete {
			times.Add(part.workload.CompletedAt, part.entered.Need)
			continue
		}
		times.AddDemand(part.entered.Need, ofShare[part])
	}
	return times
}

// recordedAt is when status was last written, as the API server noted; zero if it did not.
func (s *sequence) recordedAt() time.Time {
	var at time.Time
	for _, entry := range s.object.ManagedFields {
		if entry.Subresource == "status" && entry.Time != nil {
			at = latest(at, entry.Time.Time)
		}
	}
	return at
}

// resumedAt is when status says that a suspension was lifted; zero if it does not, or if there can have been none.
func (s *sequence) resumedAt() time.Time {
	if s.Suspended || s.Generation < 2 {
		return time.Time{}
	}
	c := meta.FindStatusCondition(s.object.Status.Conditions, v1alpha1.ConditionSuspended)
	if c == nil || c.Status != metav1.ConditionFalse {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}

// clamp takes a time in the future for now. Before the first Tick there is no future.
func clamp(t, now time.Time) time.Time {
	if !now.IsZero() && t.After(now) {
		return now.Truncate(time.Second)
	}
	return t
}

// fullSecondAfter is from when a wait counts that begins with a time of the API: these are cut to whole seconds.
func fullSecondAfter(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }

// waitOver is when the wait of a satisfied group is over.
func (d *domain) waitOver(i int) time.Time {
	g, since := d.sequence.groups[i], d.since(i)
	if g.Wait == 0 {
		return since
	}
	return fullSecondAfter(since).Add(g.Wait)
}

// deadline is when the group's time is over; zero if it has no time-out, or is not released.
func (d *domain) deadline(i int) time.Time {
	g := d.sequence.groups[i]
	if g.Timeout == 0 || i > d.current() || d.sequence.refused() || (d.isNode() && d.node == nil) || (d.sequence.Suspended && !d.releases(i)) {
		return time.Time{}
	}
	return fullSecondAfter(d.releasedAt(i)).Add(g.Timeout)
}

// timedOut reports whether the group's time was over before it was satisfied for the first time. That it breaks after it was
// satisfied in time is another matter.
//
// On a node this takes somebody who saw it: this engine, if it watched the group already when the time was over, or the
// controller that recorded it. What was ready there at some time before a restart nothing else says.
func (d *domain) timedOut(i int, now time.Time) bool {
	at := d.deadline(i)
	if at.IsZero() || now.Before(at) || d.satisfiedOnce(i) {
		return false
	}
	return !d.isNode() || !d.watchedSince(i).After(at) || slices.Contains(d.nodeRecord(i).TimedOut, int32(i))
}

// satisfiedOnce reports whether the group was satisfied since it was released: as the engine saw, or as status says.
func (d *domain) satisfiedOnce(i int) bool {
	return d.once.Has(i) || d.restsOnNothing(i) || slices.Contains(d.nodeRecord(i).ReadyBefore, int32(i))
}

// nodeRecord is what status says of the domain's node, if it speaks of the group as it is defined now.
func (d *domain) nodeRecord(i int) v1alpha1.NodeStatus {
	if record := d.sequence.nodeRecords[d.name]; record != nil && d.isNode() && d.sequence.record(i).Hash != "" {
		return *record
	}
	return v1alpha1.NodeStatus{}
}

// noteSatisfied remembers of a released group that it was satisfied: it has no time-out any more. One that was too late, and
// that the groups after it no longer wait for, must have been satisfied for as long as they would have waited.
func (d *domain) noteSatisfied(i int, now time.Time) {
	if (d.isConfirmed(i) || d.peek(i).witness.confirmed) && !d.restsOnNothing(i) && (!d.sequence.Suspended || d.releases(i)) && (!d.timedOut(i, now) || !now.Before(d.waitOver(i))) {
		d.once.Add(i)
	}
}

// releasedAt is when the group was released: for the first, when there were a sequence, a node and a workload; for any other,
// when the groups before were passed. Under Continuous that is the last time.
func (d *domain) releasedAt(i int) time.Time {
	s, g := d.sequence, d.sequence.groups[i]
	record := s.record(i)
	if record.ReleasedAt != nil && !s.Continuous {
		return record.ReleasedAt.Time
	}
	at := latest(latest(s.created, g.editedAt), latest(s.resumedSeen, s.resumedAt()))
	if record.ChangedAt != nil {
		at = latest(at, record.ChangedAt.Time)
	}
	switch {
	case d.isNode():
		at = latest(at, d.begunAt())
	case record.ReleasedAt != nil:
		at = latest(at, record.ReleasedAt.Time)
	case g.Timeout > 0:
		// What happened before this engine came, nobody has recorded.
		at = latest(at, g.watchedSince)
	}
	return latest(at, d.passedBefore(i))
}

// passedBefore is when the group before was passed; zero if that is not known. Passes come one after another.
func (d *domain) passedBefore(i int) time.Time {
	switch {
	case i == 0:
		return time.Time{}
	case len(d.passes) == 0:
		return d.lastPass
	}
	return d.passes[min(i, len(d.passes))-1]
}

// begunAt is when there were a node and the workloads of the first group that should run there.
func (d *domain) begunAt() time.Time {
	if d.node == nil {
		return time.Time{}
	}
	at := d.node.Object.CreationTimestamp.Time
	for demand := range d.sequence.groups[0].demands {
		if _, due := demand.workload.due[d.name]; due {
			at = latest(at, demand.workload.CreatedAt)
		}
	}
	return at
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
