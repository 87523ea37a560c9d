package sequence

import (
	"time"

	"example.com/podsequence/pkg/sequence/readiness"
)

// tally counts one group in one lane.
type tally struct {
	group   int
	members map[*pod]struct{}

	// sums, demands and podGroups are what the rules of readiness look at.
	sums      readiness.Members
	demands   readiness.Demands
	podGroups readiness.PodGroups // nil if no member belongs to one

	// changed is about everything until the newest event that changed these sums, and doubt what it was when they last turned enough, or
	// changed what is enough: see doubts.
	changed, doubt Question
	counted        readiness.Need // what was needed then; ready is not looked at

	satisfied bool
	sure      bool      // it is satisfied, and no event is missing that says otherwise
	waited    bool      // its wait was over when that was last looked at
	since     time.Time // when it became satisfied; zero while it is not
	dirty     bool      // its sums changed in this batch
	turned    time.Time // the latest ready time of pods that turned ready in this batch

	witness witness
}

// facts are what the rules of readiness look at.
func (l *lane) facts(i int) readiness.Group {
	g, t := l.sequence.groups[i], l.peek(i)
	facts := readiness.Group{Group: g.Group, Members: t.sums, Demands: t.demands, OnNode: l.isNode()}
	if facts.OnNode {
		facts.MissingOnNode = l.missing(g)
	}
	if len(t.podGroups) > 0 && g.MinAvailable == nil {
		facts.PodGroupMinimum, facts.PodGroupShort = t.podGroups.Need(l.sequence.minimum, g.completedGang)
	}
	return facts
}

// need works out what the group waits for in this lane.
func (l *lane) need(i int) readiness.Need {
	facts := l.facts(i)
	return facts.Need()
}

// missing is the number of DaemonSets that should have a pod on the lane's node and have not.
func (l *lane) missing(g *group) int {
	missing := 0
	for share := range g.shares {
		w := share.workload
		if _, due := w.due[l.name]; readiness.IsMissing(due, w.onNode[l.name]) {
			missing++
		}
	}
	return missing
}
