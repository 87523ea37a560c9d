package sequence

import "example.com/podsequence/pkg/sequence/readiness"

// share is a workload's part in one group: the group selects its pods by their template.
type share struct {
	workload *workload
	sequence *sequence
	group    int

	// done counts the members of the group that the workload made and that are done, claimed those that an earlier group
	// has, both by revision: which revision is the newest may change while the pods stay.
	done, claimed map[string]int
	// namedBefore is how many of its pods' names earlier groups list, whether the pods exist or not.
	namedBefore int

	// entered is what the tally of the group has of it.
	entered readiness.Demands
}

// shareIn is the workload's share in a group; nil if the group does not select its pods.
func (s *sequence) shareIn(group int, w *workload) *share {
	if w == nil {
		return nil
	}
	if part := w.shares[s]; part != nil && part.group == group {
		return part
	}
	return nil
}

// demand is what the rules of readiness look at.
func (s *share) demand() readiness.Demand {
	w := &s.workload.Workload
	return readiness.Demand{
		Workload: w, Required: s.sequence.groups[s.group].Required, NamedBefore: s.namedBefore,
		Claimed: readiness.Current(w, s.claimed), Done: readiness.Current(w, s.done),
	}
}

// refresh enters into the tally what has changed.
func (s *share) refresh() {
	now := s.demand().Sum()
	if now == s.entered {
		return
	}
	t := s.sequence.lanes[""].tally(s.group)
	t.demands.Add(s.entered, -1)
	t.demands.Add(now, +1)
	s.entered = now
}

// withdraw takes the share out of the tally.
func (s *share) withdraw() {
	if l := s.sequence.lanes[""]; l != nil {
		l.tally(s.group).demands.Add(s.entered, -1)
	}
	s.entered = readiness.Demands{}
}

// countNames counts the pods of the workload that earlier groups list by name.
func (s *share) countNames() {
	s.namedBefore = readiness.NamedBefore(&s.workload.Workload, s.sequence.ByName, s.group)
}

// countDone and countClaimed enter a pod of the workload, or take it out.
func (s *share) countDone(revision string, sign int) {
	bump(&s.done, revision, sign)
	s.refresh()
}

func (s *share) countClaimed(p *pod, revision string, sign int) {
	if readiness.IsClaimed(&s.workload.Workload, &p.Pod, s.sequence.ByName, s.group) {
		bump(&s.claimed, revision, sign)
		s.refresh()
	}
}

func bump(counts *map[string]int, key string, sign int) {
	if *counts == nil {
		*counts = map[string]int{}
	}
	(*counts)[key] += sign
	if (*counts)[key] == 0 {
		delete(*counts, key)
	}
}
