package sequence

import (
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
)

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
	entered work
}

// work sums up what workloads make of a group.
type work struct {
	sources    int // workloads that count
	need       int // members that they make for this group
	ready      int // of these, done; a surplus of one workload never counts for another
	observed   int // of ready, those of workloads whose controller has seen the newest generation
	short      int // workloads that have too few
	unobserved int // workloads whose controller has not seen the newest generation
	failed     int // Jobs that failed
}

func (w *work) add(other work, sign int) {
	w.sources += sign * other.sources
	w.need += sign * other.need
	w.ready += sign * other.ready
	w.observed += sign * other.observed
	w.short += sign * other.short
	w.unobserved += sign * other.unobserved
	w.failed += sign * other.failed
}

// current is the count of the pods whose revision counts.
func (w *workload) current(byRevision map[string]int) int {
	if !w.AllCurrent {
		return byRevision[w.Revision]
	}
	sum := 0
	for _, n := range byRevision {
		sum += n
	}
	return sum
}

// isCurrent tells whether pods of the revision count.
func (s *share) isCurrent(revision string) bool {
	w := s.workload
	return w.Counts() && !w.Superseded && (w.AllCurrent || w.Revision == revision)
}

// expects reports whether the pod is one of those that the workload should have.
func (s *share) expects(p *pod, revision string) bool {
	return s.isCurrent(revision) && s.workload.Wants(&p.Pod)
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

// work is what the workload contributes to the group now.
func (s *share) work() work {
	w := s.workload
	if !w.Counts() || w.Superseded {
		return work{}
	}
	g := s.sequence.groups[s.group]
	contribution := work{sources: 1}
	contribution.need = max(0, w.Expects(g.Required)-s.namedBefore-w.current(s.claimed))
	ready := w.current(s.done)
	short := ready < contribution.need
	if w.Kind == inventory.KindJob {
		switch {
		case w.Complete:
			ready, short = contribution.need, false
		case g.Required == v1alpha1.RequireComplete:
			short = true
		}
		if w.Failed {
			contribution.failed = 1
		}
	}
	contribution.ready = min(ready, contribution.need)
	if short {
		contribution.short = 1
	}
	if w.Observed {
		contribution.observed = contribution.ready
	} else {
		contribution.unobserved = 1
	}
	return contribution
}

// refresh enters into the tally what has changed.
func (s *share) refresh() {
	now := s.work()
	if now == s.entered {
		return
	}
	t := s.sequence.lanes[""].tally(s.group)
	t.work.add(s.entered, -1)
	t.work.add(now, +1)
	s.entered = now
}

// withdraw takes the share out of the tally.
func (s *share) withdraw() {
	if l := s.sequence.lanes[""]; l != nil {
		l.tally(s.group).work.add(s.entered, -1)
	}
	s.entered = work{}
}

// countNames counts the pods of the workload that earlier groups list by name.
func (s *share) countNames() {
	s.namedBefore = 0
	if s.workload.Kind != inventory.KindStatefulSet {
		return
	}
	for name, naming := range s.sequence.ByName {
		if naming[0] < s.group && s.workload.OwnsName(name) {
			s.namedBefore++
		}
	}
}

// countDone and countClaimed enter a pod of the workload, or take it out.
func (s *share) countDone(revision string, sign int) {
	bump(&s.done, revision, sign)
	s.refresh()
}

func (s *share) countClaimed(p *pod, revision string, sign int) {
	if p.Failed || !s.workload.Wants(&p.Pod) {
		return // it is replaced, or one too many
	}
	if s.workload.Kind == inventory.KindStatefulSet {
		if naming := s.sequence.ByName[p.Name]; len(naming) > 0 && naming[0] < s.group {
			return // its name is counted
		}
	}
	bump(&s.claimed, revision, sign)
	s.refresh()
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
