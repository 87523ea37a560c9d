package sequence

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/pkg/podgroups"
)

// tally counts one group in one lane.
type tally struct {
	group   int
	members map[*pod]struct{}

	// expected counts the members that count by themselves, and ready those of them that are done. For a group by name,
	// ready counts the pods it names, even those that start with an earlier group.
	expected, ready int
	// uncertain counts those of them whose owner has not been seen yet: it may expect more.
	uncertain int
	// stale counts, on a node, those that were ready before the node was made.
	stale int
	// failed counts those that failed and that nobody replaces.
	failed int
	work   work
	gangs  map[podgroups.Reference]gangCount // nil if no member belongs to one

	// changed is about everything until the newest event that changed these sums, and doubt what it was when they last turned enough, or
	// changed what is enough: see doubts.
	changed, doubt Question
	counted        need // what was needed then; ready is not looked at

	satisfied bool
	sure      bool      // it is satisfied, and no event is missing that says otherwise
	waited    bool      // its wait was over when that was last looked at
	since     time.Time // when it became satisfied; zero while it is not
	dirty     bool      // its sums changed in this batch
	turned    time.Time // the latest ready time of pods that turned ready in this batch

	witness witness
}

// need is what a group waits for: how many, of how many, and how many there are.
type need struct {
	required, expected, ready int
	// certain tells whether it is known what to expect.
	certain bool
	// nothing tells that there is nothing to expect, and not because somebody said so.
	nothing bool
	// missing counts the DaemonSets that should have a pod on the node and have not.
	missing int
	// gangShort tells that a PodGroup asks for more members than are done.
	gangShort bool
	// stale counts the pods that were ready on an earlier node of the same name and have not said so of this one.
	stale int
	// unseen tells that a pod's owner is not known yet, and incomplete that a Job is not complete though its pods are.
	unseen, incomplete bool
}

// need works out what the group waits for in this lane.
func (l *lane) need(i int) need {
	g, t := l.sequence.groups[i], l.peek(i)
	n := need{certain: true}
	switch {
	case l.isNode():
		n.missing = l.missing(g)
		n.expected, n.ready = t.expected+n.missing, t.ready
		n.nothing, n.stale = n.expected == 0, t.stale
	case g.Selector == nil:
		n.expected, n.ready = len(g.Names), t.ready
		n.nothing = n.expected == 0 // a group that makes no sense
	default:
		n.expected, n.ready = t.expected+t.work.need, t.ready+t.work.ready
		n.nothing = t.work.sources == 0 && t.expected == 0
		n.certain = t.uncertain == 0 && t.work.unobserved == 0
		n.unseen = t.uncertain > 0
		n.incomplete = t.work.short > 0 && n.ready >= n.expected
	}
	if len(t.gangs) > 0 && g.MinAvailable == nil {
		minimum, short := l.gangNeed(i)
		n.expected, n.gangShort = max(n.expected, minimum), short
	}
	n.required = n.expected
	if g.MinAvailable == nil {
		return n
	}
	// A percentage was checked when the group was compiled.
	n.required, _ = intstr.GetScaledValueFromIntOrPercent(g.MinAvailable, n.expected, true)
	if g.MinAvailable.Type == intstr.Int {
		// Whatever else there may be to expect, these are enough. A group that makes no sense has no members.
		n.ready = t.ready + t.work.observed
		n.certain, n.nothing = true, g.Selector == nil && len(g.Names) == 0
	}
	return n
}

// missing is the number of DaemonSets that should have a pod on the lane's node and have not.
func (l *lane) missing(g *group) int {
	missing := 0
	for share := range g.shares {
		w := share.workload
		if _, due := w.due[l.name]; due && w.onNode[l.name] == 0 {
			missing++
		}
	}
	return missing
}

// isSatisfied tells whether enough of the expected members are done now. A group of which nothing is known to expect is
// not: its pods may yet come.
func (l *lane) isSatisfied(i int, n need) bool {
	if l.sequence.refused() || l.sequence.groups[i].Unreadable || n.nothing || !n.certain || n.gangShort || n.ready < n.required {
		return false
	}
	// Every workload by itself: the sums hide nothing, because a surplus is not entered. But a Job may have all the
	// pods it needs and not be complete.
	return l.sequence.groups[i].MinAvailable != nil || l.peek(i).work.short == 0
}
