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
		FirstLook: !d.evaluated && state.since.IsZero() && !state.lacked,
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
				if g.NamesPod(p.Namespace, p.Name) && p.Done(g.Required) && !d.peek(i).onTrial(p) {
					times.Add(d.countsSince(p, g), 1)
				}
			}
		}
		return times
	}
	ofDemand := map[*demand]readiness.Times{}
	for p := range d.peek(i).members {
		if !d.isDone(p, i) {
			continue
		}
		owner := k.workloads.ownerOf(p)
		part := s.demandIn(i, owner.workload)
		switch {
		case d.isNode(), part == nil && !owner.unseen:
			times.Add(d.countsSince(p, g), 1)
		case part != nil && readiness.Expects(&part.workload.Workload, p.Pod, owner.revision):
			ofDemand[part] = append(ofDemand[part], readiness.Time{At: d.countsSince(p, g), Pods: 1})
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
