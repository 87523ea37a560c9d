package ordercheck

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// raceAllowance is how long a pod older than a sequence, or than an edit of it, may still go by what was before.
const raceAllowance = 2 * time.Second

// version is one spec of one PodSequence, and how far its groups have come. It is kept up to date while it is in force
// and, for the race allowance, as long as the version after it is young.
type version struct {
	*sequenceFacts
	schedulers sets.Set[string]
	since      revision
	arrived    time.Time // zero for one older than the watch: nothing can race with it
	before     *version  // nil when there was no sequence

	assumed int // how many passes were taken on trust
	passed  int // groups 0 to passed-1 have been passed
	members []members
	placed  map[string]int // pod name to group
	best    tally          // the nearest that group number passed has come to being satisfied
}

// members are the pods of one group that are neither terminating nor gone. A pod changes under it without notice, so
// it remembers which were ready when they were added: the count then stays true without looking at all again.
type members struct {
	readiness map[string]bool // by name
	ready     int
}

func (m *members) add(p *pod) {
	m.readiness[p.Name] = p.ready
	if p.ready {
		m.ready++
	}
}

func (m *members) remove(name string) {
	if m.readiness[name] {
		m.ready--
	}
	delete(m.readiness, name)
}

// tally is how many pods of a group are ready, of how many.
type tally struct {
	ready, of int
}

// satisfied is never true of an empty group: nothing has shown that it was ready.
func (t tally) satisfied() bool {
	return t.of > 0 && t.ready == t.of
}

// newVersion works out where a spec stands in a world, given how many of its groups are passed already.
func newVersion(f *sequenceFacts, schedulers sets.Set[string], passed int, w *world) *version {
	v := &version{
		sequenceFacts: f,
		schedulers:    schedulers,
		passed:        passed,
		members:       make([]members, len(f.groups)),
		placed:        map[string]int{},
	}
	for i := range v.members {
		v.members[i].readiness = map[string]bool{}
	}
	for _, p := range w.byNamespace[f.target] {
		v.place(p)
	}
	v.advance(w)
	for name := range v.placed {
		v.testify(w.get(f.target, name))
	}
	v.advance(w)
	return v
}

// succeed makes the version that replaces this one. Passes carry over as far as the same members are asked for.
func (v *version) succeed(f *sequenceFacts, w *world, e event) *version {
	next := newVersion(f, v.schedulers, min(v.passed, f.sharedWith(v.sequenceFacts)), w)
	next.since, next.arrived, next.before = e.revision, e.arrived, v
	// Then nothing races with this one any more, and what its own predecessor has to say cannot matter.
	if e.arrived.Sub(v.arrived) > raceAllowance {
		v.before = nil
	}
	return next
}

// follow brings this version, and those before it that still count, up to date with a pod. The pod is gone if the world
// does not have it any more.
func (v *version) follow(p *pod, w *world) {
	if p.Namespace == v.target {
		v.displace(p.Name)
		current := w.get(p.Namespace, p.Name)
		if current != nil {
			v.place(current)
		}
		v.advance(w)
		if current != nil {
			v.testify(current)
			v.advance(w)
		}
	}
	if v.before != nil {
		v.before.follow(p, w)
	}
}

func (v *version) place(p *pod) {
	group, ok := v.groupOf(p.podFacts)
	if !ok || p.terminating {
		return
	}
	v.placed[p.Name] = group
	v.members[group].add(p)
}

func (v *version) displace(name string) {
	group, ok := v.placed[name]
	if !ok {
		return
	}
	delete(v.placed, name)
	v.members[group].remove(name)
}

// governs says whether somebody could have held the pod.
func (v *version) governs(p *pod) bool {
	return v.schedulers.Has(p.schedulerName) || p.carried.Has(v.gate)
}

// testify takes a bound governed member as the proof that the groups ahead of its own were passed. Usually that is
// known; news it is of a pod bound before the watch or this version began, or in a race. A pod bound too early proves
// nothing, or each violation would justify the next.
func (v *version) testify(p *pod) {
	if group, ok := v.placed[p.Name]; ok && p.node != "" && !p.early && v.governs(p) {
		v.assume(group)
	}
}

// assume has groups passed that were not seen to be.
func (v *version) assume(passed int) {
	if passed > v.passed {
		v.assumed += passed - v.passed
		v.passed = passed
		v.best = tally{}
	}
}

// advance passes the groups that are satisfied now, in order. What is passed stays passed.
func (v *version) advance(w *world) {
	for v.passed < len(v.groups) {
		now := v.tally(v.passed, w)
		if now.ready > v.best.ready || v.best.ready == 0 && now.of > 0 {
			v.best = now
		}
		if !now.satisfied() {
			return
		}
		v.passed++
		v.best = tally{}
	}
}

func (v *version) tally(group int, w *world) tally {
	names := v.groups[group].names
	if len(names) == 0 {
		return tally{ready: v.members[group].ready, of: len(v.members[group].readiness)}
	}
	t := tally{of: len(names)}
	for _, name := range names {
		if p := w.get(v.target, name); p != nil && p.ready && !p.terminating {
			t.ready++
		}
	}
	return t
}

// allows says whether the pod may be bound by this version, or by the one before when the two were racing.
// excused is true when only the race allowed it.
func (v *version) allows(p *pod, arrived time.Time) (allowed, excused bool) {
	group, ok := v.groupOf(p.podFacts)
	if !ok || p.terminating || group <= v.passed {
		return true, false
	}
	if !v.racesWith(p, arrived) {
		return false, false
	}
	if v.before == nil {
		return true, true
	}
	allowed, _ = v.before.allows(p, arrived)
	return allowed, allowed
}

// racesWith says whether the pod may have been on its way to a node when this version appeared.
func (v *version) racesWith(p *pod, arrived time.Time) bool {
	return p.created < v.since && !p.carried.Has(v.gate) && arrived.Sub(v.arrived) <= raceAllowance
}
