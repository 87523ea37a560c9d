package ordercheck

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// tolerance is how far a scheduler may be behind: how long a pod older than a sequence, or than an edit of it, may still go
// by what was before, and how long a group that was passed counts after it is not.
const tolerance = 2 * time.Second

// version is one spec of one PodSequence, and how far its groups have come. It is kept up to date while it is in force
// and, for the race allowance, as long as the version after it is young.
type version struct {
	*sequenceFacts
	rules       *rules
	since       revision
	arrived     time.Time // zero for one older than the watch: nothing can race with it
	suspendedAt time.Time // zero unless it was suspended while the referee watched
	before      *version  // nil when there was no sequence

	assumed int // how many passes were taken on trust
	members []members
	placed  map[string]int    // pod name to group
	naming  map[string][]int  // pod name to the groups by name that have it, in order
	homes   map[types.UID]int // workload to the group whose selector takes its pods
	// passedAs has the definitions under which groups of this sequence were passed, in this version or another.
	passedAs sets.Set[string]
	cluster  *lane            // nil if the order holds on each node
	nodes    map[string]*lane // nil if it holds across the cluster
}

// rules are what is the same for all versions.
type rules struct {
	schedulers sets.Set[string]
	stops      []Stop
}

// windowBefore is from when on what was so may have made a scheduler do what happened at a time. One that was stopped does
// then what it had decided before.
func (r *rules) windowBefore(at time.Time) time.Time {
	from := at.Add(-tolerance)
	for _, stop := range slices.Backward(r.stops) {
		if !stop.From.After(at) && !stop.To.Before(from) {
			from = earlier(from, stop.From.Add(-tolerance))
		}
	}
	return from
}

// members are the pods of one group that are neither terminating nor gone. A pod changes under it without notice, so
// it remembers which were ready when they were added: the count then stays true without looking at all again.
type members struct {
	readiness map[string]bool // by name
	ready     int
}

func (m *members) add(name string, ready bool) {
	m.readiness[name] = ready
	if ready {
		m.ready++
	}
}

func (m *members) remove(name string) {
	if m.readiness[name] {
		m.ready--
	}
	delete(m.readiness, name)
}

// newVersion works out where a spec stands in a world as of an event. What an older version of it knows of the leading
// groups that both share is taken over.
func newVersion(f *sequenceFacts, rules *rules, old *version, w *world, e event) *version {
	v := &version{
		sequenceFacts: f,
		rules:         rules,
		members:       make([]members, len(f.groups)),
		placed:        map[string]int{},
		naming:        map[string][]int{},
		homes:         map[types.UID]int{},
		passedAs:      sets.New[string](),
	}
	if old != nil {
		v.passedAs = old.passedAs
	}
	for i, group := range f.groups {
		v.members[i].readiness = map[string]bool{}
		for _, name := range group.names {
			v.naming[name] = append(v.naming[name], i)
		}
	}
	ns := w.in(f.target)
	for _, workload := range ns.workloads {
		v.house(workload)
	}
	for _, p := range ns.pods {
		v.place(p)
	}
	shared := 0
	if old != nil {
		shared = f.sharedWith(old.sequenceFacts)
	}
	if f.perNode {
		v.nodes = map[string]*lane{}
		for node := range w.nodes {
			v.laneOn(node, old, shared, w, e)
		}
	} else {
		v.cluster = newLane(f, rules)
		if old != nil && old.cluster != nil {
			old.cluster.settle(e.arrived)
			v.cluster.inherit(old.cluster, shared, e)
			v.takeUp(v.cluster, old, e)
			v.resume()
		}
		for g := range f.groups {
			v.cluster.update(g, v.weigh(g, w), e, news{})
		}
		v.cluster.fresh = false
		v.cluster.settle(e.arrived)
	}
	return v
}

// succeed makes the version that replaces this one. Passes carry over as far as the same members are asked for.
func (v *version) succeed(f *sequenceFacts, w *world, e event) *version {
	v.remember()
	next := newVersion(f, v.rules, v, w, e)
	next.since, next.arrived, next.before = e.revision, e.arrived, v
	switch {
	case !f.suspended:
	case v.suspended:
		next.suspendedAt = v.suspendedAt
	default:
		next.suspendedAt = e.arrived
	}
	// Then nothing races with this one any more, and what its own predecessor has to say cannot matter.
	if v.arrived.Before(v.rules.windowBefore(e.arrived)) {
		v.before = nil
	}
	return next
}

// takeUp counts time-outs anew if a suspension is lifted that the scheduler cannot have missed.
func (v *version) takeUp(l *lane, old *version, e event) {
	missed := !old.suspendedAt.IsZero() && !old.suspendedAt.Before(v.rules.windowBefore(e.arrived))
	if v.continuous && old.suspended && !v.suspended && !missed {
		l.resumeAt(e.earliest, e.arrived)
	}
}

// laneOn returns how far a node is. It is worked out if it was not known.
func (v *version) laneOn(node string, old *version, shared int, w *world, e event) *lane {
	l := v.nodes[node]
	if l == nil {
		l = newLane(v.sequenceFacts, v.rules)
		v.nodes[node] = l
		if old != nil && old.nodes[node] != nil {
			old.nodes[node].settle(e.arrived)
			l.inherit(old.nodes[node], shared, e)
			v.takeUp(l, old, e)
		}
		v.weighAllOn(node, l, w, e, noNews)
	}
	return l
}

func (v *version) weighAllOn(node string, l *lane, w *world, e event, says newsFor) {
	l.settle(e.arrived)
	if facts := w.nodes[node]; facts != nil {
		l.releaseFirst(v.firstReleaseOn(facts, w))
	}
	for g := range v.groups {
		l.update(g, v.weighOn(node, g, w), e, says(g))
	}
	l.fresh = false
	v.settle(l, e)
}

// settle passes what is passed by now. What the scheduler may have seen pass before it saw a suspension is released.
func (v *version) settle(l *lane, e event) {
	l.settle(e.arrived)
	if !v.suspendedAt.IsZero() && !v.suspendedAt.Before(v.rules.windowBefore(e.arrived)) {
		l.hasReleased(l.passed)
	}
}

func (v *version) place(p *pod) {
	group, ok := v.groupOf(p.podFacts)
	if !ok || p.terminating {
		return
	}
	v.placed[p.Name] = group
	v.members[group].add(p.Name, p.has(v.groups[group].reached))
}

func (v *version) displace(name string) {
	group, ok := v.placed[name]
	if !ok {
		return
	}
	delete(v.placed, name)
	v.members[group].remove(name)
}

// house finds the group that expects a workload's pods.
func (v *version) house(f *workloadFacts) {
	if home, ok := v.placeOf(f.template); ok {
		v.homes[f.uid] = home
	} else {
		delete(v.homes, f.uid)
	}
}

// governs reports whether somebody could have held the pod: our scheduler, or the gate while the sequence was in force.
func (v *version) governs(p *pod) bool {
	_, lifted := p.lifted[v.uid]
	return v.rules.schedulers.Has(p.schedulerName) || lifted || v.perNode && p.carried.Has(v.gate)
}

// laneOf is nil for a pod on a node that was never known.
func (v *version) laneOf(p *pod) *lane {
	if v.perNode {
		return v.nodes[p.podFacts.node]
	}
	return v.cluster
}

func (g groupFacts) complete() bool { return g.reached == v1alpha1.RequireComplete }
