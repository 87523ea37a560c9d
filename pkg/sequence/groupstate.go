package sequence

import (
	"time"

	"example.com/podsequence/pkg/sequence/readiness"
)

// groupState counts one group in one domain.
type groupState struct {
	group   int
	members map[*pod]struct{}

	// sums, demands and podGroups are what the rules of readiness look at.
	sums      readiness.Members
	demands   readiness.Demands
	podGroups readiness.PodGroups // nil if no member belongs to one

	// changed is about everything until the newest event that changed these sums, and question what it was when they last turned enough, or
	// changed what is enough: see unconfirmed.
	changed, question Question
	needThen          readiness.Need // what was needed then; ready is not looked at

	satisfied     bool
	confirmed     bool      // it is satisfied, and no event is missing that says otherwise
	waitConfirmed bool      // its wait was over when that was last looked at
	since         time.Time // when it became satisfied; zero while it is not
	dirty         bool      // its sums changed in this transaction
	turned        time.Time // the latest ready time of pods that turned ready in this transaction

	witness witness
}

// facts are what the rules of readiness look at.
func (d *domain) facts(i int) readiness.Group {
	g, state := d.sequence.groups[i], d.peek(i)
	facts := readiness.Group{Group: g.Group, Members: &state.sums, Demands: &state.demands, OnNode: d.isNode()}
	if facts.OnNode {
		facts.MissingOnNode = d.missing(g)
	}
	if len(state.podGroups) > 0 && g.MinAvailable == nil {
		facts.PodGroupMinimum, facts.PodGroupShort = state.podGroups.Need(d.sequence.minimum, g.completedPodGroup)
	}
	return facts
}

// need works out what the group waits for in this domain.
func (d *domain) need(i int) readiness.Need {
	facts := d.facts(i)
	return facts.Need()
}

// missing is the number of DaemonSets that should have a pod on the domain's node and have not.
func (d *domain) missing(g *group) int {
	missing := 0
	for demand := range g.demands {
		w := demand.workload
		if _, due := w.due[d.name]; readiness.IsMissing(due, w.onNode[d.name]) {
			missing++
		}
	}
	return missing
}
