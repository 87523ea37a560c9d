package sequence

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/pkg/sequence/readiness"
)

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
// none. Of each workload only as many pods count as are needed of it, the earliest.
func (d *domain) readySince(i int) time.Time {
	g, state := d.sequence.groups[i], d.peek(i)
	if g.MinAvailable == nil {
		return max(state.readyAt.When(state.readyAt.Len()), state.demandsReadyAt.When(state.demandsReadyAt.Len())).Time()
	}
	needed := max(d.need(i).Required, 1)
	if state.readyAt.Len() == 0 && len(g.demands) == 1 {
		for part := range g.demands {
			return part.readyAt(min(needed, part.entered.Need)).Time()
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
	times.AddFirst(state.readyAt.Len(), &state.readyAt)
	for part := range d.sequence.groups[i].demands {
		part.addReadyTimes(times)
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
