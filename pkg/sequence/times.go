package sequence

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/spec"
)

// Times come from the API: from the pods' conditions, from the creation of objects, and from status, where the controller
// records what objects do not say any more. What the engine itself saw is only used where nothing is recorded yet, so that a
// restart makes a wait or a time-out end later, but never earlier.

// satisfiedSince is since when the group is satisfied, without a break as far as anything says. turned is the latest Ready
// time of the pods whose readiness this event brought; zero if it was something else that completed the group.
func (d *domain) satisfiedSince(i int, satisfied bool, k *knowledge) time.Time {
	g, state := d.sequence.groups[i], d.peek(i)
	switch {
	case !satisfied:
		return time.Time{}
	case !d.evaluated && state.since.IsZero() && !state.lacked:
		return d.sinceFirstSight(i, k)
	case !state.satisfied && state.turned.IsZero():
		return latest(k.now.Truncate(time.Second), clamp(d.readySince(i, k), k.now))
	case !state.satisfied:
		return clamp(latest(state.turned, d.readySince(i, k)), k.now)
	case g.Wait > 0 && state.turned.After(state.since):
		// A pod that is needed turned ready again: there was a break, even if only its end was seen.
		return latest(state.since, clamp(d.readySince(i, k), k.now))
	}
	return state.since
}

// sinceFirstSight is since when a group is satisfied that is satisfied when it is first looked at.
func (d *domain) sinceFirstSight(i int, k *knowledge) time.Time {
	since, ready := time.Time{}, d.readySince(i, k)
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
		since = k.now
	}
	if since.IsZero() {
		since = k.now
	}
	return clamp(since, k.now).Truncate(time.Second)
}

// recordedSince is since when the group is satisfied as status says; zero if it says that the group is not. It is not known if
// status does not speak of the group as it is defined now. Of a node it speaks of one group.
func (d *domain) recordedSince(i int) (since time.Time, known bool) {
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
func (d *domain) readySince(i int, k *knowledge) time.Time {
	g, times := d.sequence.groups[i], d.readyTimes(i, k)
	needed := times.Pods()
	if g.MinAvailable != nil {
		needed = min(needed, max(d.need(i).Required, 1))
	}
	return times.When(needed)
}

// readyTimes are when the pods turned ready that count as done: of each workload only as many as are needed of it.
func (d *domain) readyTimes(i int, k *knowledge) readiness.Times {
	s := d.sequence
	g := s.groups[i]
	var times readiness.Times
	if g.Selector == nil && !d.isNode() {
		for j := range i + 1 { // a pod that this group names may start with an earlier one
			for p := range d.peek(j).members {
				if g.NamesPod(p.Namespace, p.Name) && p.Done(g.Required) {
					times.Add(p.ReadyAt.Time(), 1)
				}
			}
		}
		return times
	}
	ofDemand := map[*demand]readiness.Times{}
	for p := range d.peek(i).members {
		if !d.isDone(p, g) {
			continue
		}
		owner := k.workloads.ownerOf(p)
		part := s.demandIn(i, owner.workload)
		switch {
		case d.isNode(), part == nil && !owner.unseen:
			times.Add(p.ReadyAt.Time(), 1)
		case part != nil && readiness.Expects(&part.workload.Workload, &p.Pod, owner.revision):
			ofDemand[part] = append(ofDemand[part], readiness.Time{At: p.ReadyAt.Time(), Pods: 1})
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
		times.AddDemand(part.entered.Need, ofDemand[part])
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

// waitOver is when the wait of a satisfied group is over.
func (d *domain) waitOver(i int) time.Time {
	return progress.WaitOver(d.sequence.Groups[i], d.since(i))
}

// progressFacts are what the rules of progress look at.
func (d *domain) progressFacts() progress.Domain {
	s := d.sequence
	facts := progress.Domain{Sequence: s.Sequence, Facts: d, Refused: s.refused(), OnNode: d.isNode(), Known: d.node != nil}
	if s.firstReleased.Load() {
		facts.ReleasedAtFirst = spec.Before(1)
	}
	return facts
}

// Readiness returns how far a group is by itself.
func (d *domain) Readiness(i int) progress.Readiness {
	r := progress.Readiness{Elsewhere: !d.applies(d.sequence.groups[i]), NeedsNothing: d.restsOnNothing(i)}
	if state := d.find(i); state != nil {
		r.Satisfied, r.Confirmed, r.Since = state.satisfied, state.confirmed && d.confirmedSinceReached(i), state.since
		r.Witnessed, r.WitnessedAt = state.witness.Confirmed, state.witness.Since
	} else if r.NeedsNothing {
		r.Satisfied, r.Confirmed, r.Since = true, true, d.watchedSince(i)
	}
	return r
}

// Recorded returns what status says of a group.
func (d *domain) Recorded(i int) progress.Record {
	r := progress.Record{GroupStatus: d.sequence.record(i)}
	if d.isNode() && r.Hash != "" {
		if node := d.sequence.nodeRecords[d.name]; node != nil {
			index := int32(d.sequence.recordIndex(i))
			r.TimedOut, r.ReadyBefore = slices.Contains(node.TimedOut, index), slices.Contains(node.ReadyBefore, index)
		}
	}
	return r
}

// Origin returns what says since when a group can have been released.
func (d *domain) Origin(i int) progress.Origin {
	s, g := d.sequence, d.sequence.groups[i]
	origin := progress.Origin{
		Created: s.created, Edited: g.editedAt, Resumed: latest(s.resumedSeen, s.resumedAt()), Watched: d.watchedSince(i),
	}
	if d.isNode() {
		origin.Placed = d.placedAt(i)
	}
	return origin
}

// deadline, timedOut, satisfiedOnce and releasedAt answer for a group as progress does.
func (d *domain) deadline(i int) time.Time { return d.Deadline(d.progressFacts(), i) }

func (d *domain) timedOut(i int, now time.Time) bool {
	return d.sequence.groups[i].Timeout > 0 && d.TimedOut(d.progressFacts(), i, now)
}

func (d *domain) satisfiedOnce(i int) bool { return d.SatisfiedOnce(d.progressFacts(), i) }

func (d *domain) releasedAt(i int) time.Time { return d.ReleasedAt(d.progressFacts(), i) }

// placedAt is when there were a node and the workloads that should run there before anything else does that the group waits for.
func (d *domain) placedAt(i int) time.Time {
	if d.node == nil {
		return time.Time{}
	}
	at := d.node.Object.CreationTimestamp.Time
	g := d.sequence.groups[i]
	for first := range (g.Awaited | 1<<i).All() {
		if d.sequence.groups[first].Awaited != 0 {
			continue
		}
		for demand := range d.sequence.groups[first].demands {
			if _, due := demand.workload.due[d.name]; due {
				at = latest(at, demand.workload.CreatedAt)
			}
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
