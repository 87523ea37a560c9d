package ordercheck

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// tolerance is how far a scheduler may be behind: how long a pod older than a sequence, or than an edit of it, may still go
// by what was before, and how long a group that was passed counts after it is not.
const tolerance = 2 * time.Second

// version is one spec of one sequence, in namespaces with the labels that they have, and how far its groups have come. It is kept up to date while it is in force
// and, for the race allowance, as long as the version after it is young.
type version struct {
	*sequenceFacts
	rules       *rules
	since       revision
	arrived     time.Time // zero for one older than the watch: nothing can race with it
	suspendedAt time.Time // zero unless it was suspended while the referee watched
	before      *version  // nil when there was no sequence

	assumed int // how many passes were taken on trust
	world   *world
	reach   map[string][]int // of a ClusterPodSequence: the groups whose members may live in a namespace
	all     []int            // of any other: all groups
	members []members
	placed  map[types.NamespacedName]int   // pod to group
	naming  map[types.NamespacedName][]int // pod to the groups by name that have it, in order
	homes   map[types.UID]place            // workload to the group whose selector takes its pods
	// passedAs are the definitions under which groups of this sequence were passed, in this version or another.
	passedAs sets.Set[string]
	// knew are the Jobs and pods that were there under this sequence, in any version, as far as they failed; forgiven those of them
	// that it need not mind any more now that they are lost.
	knew, forgiven sets.Set[types.UID]
	cluster        *domain            // nil if the order holds on each node
	nodes          map[string]*domain // nil if it holds across the cluster
}

// place is the group that expects the pods of a workload.
type place struct {
	namespace string
	group     int
}

// rules are what is the same for all versions.
type rules struct {
	schedulers sets.Set[string]
	stops      []Stop
	lags       []Lag
	// unprobedReady is how long pods without a readiness probe must be ready before they count.
	unprobedReady time.Duration
	// excusesUnseen is as of Options.ExcusesUnseen.
	excusesUnseen bool
}

// windowBefore is from when on what was so may have made a scheduler do what happened at a time. One that was stopped does
// then what it had decided before, and one that is shown what had been, what was right then.
func (r *rules) windowBefore(at time.Time) time.Time {
	from := at.Add(-tolerance)
	for _, lag := range r.lags {
		if !lag.From.After(at) && !lag.To.Before(from) {
			from = earlier(from, at.Add(-tolerance-lag.By))
		}
	}
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
	readiness map[types.NamespacedName]bool
	ready     int
}

func (m *members) add(name types.NamespacedName, ready bool) {
	m.readiness[name] = ready
	if ready {
		m.ready++
	}
}

func (m *members) remove(name types.NamespacedName) {
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
		world:         w,
		reach:         map[string][]int{},
		members:       make([]members, len(f.groups)),
		placed:        map[types.NamespacedName]int{},
		naming:        map[types.NamespacedName][]int{},
		homes:         map[types.UID]place{},
		passedAs:      sets.New[string](),
		knew:          sets.New[types.UID](),
		forgiven:      sets.New[types.UID](),
	}
	if old != nil {
		v.passedAs, v.knew, v.forgiven = old.passedAs, old.knew, old.forgiven
		old.forgive(w)
	}
	for i, group := range f.groups {
		v.all = append(v.all, i)
		v.members[i].readiness = map[types.NamespacedName]bool{}
		for _, name := range group.names {
			key := types.NamespacedName{Namespace: group.home.names[0], Name: name}
			v.naming[key] = append(v.naming[key], i)
		}
	}
	for _, namespace := range v.spans(w) {
		ns := w.in(namespace)
		for _, workload := range ns.workloads {
			v.house(workload)
		}
		for _, p := range ns.pods {
			v.place(p)
		}
	}
	if f.perNode {
		v.nodes = map[string]*domain{}
		for node := range w.nodes {
			v.domainOn(node, old, w, e)
		}
	} else {
		v.cluster = newDomain(f, rules)
		if old != nil && old.cluster != nil {
			old.cluster.settle(e.arrived)
			v.takeOver(v.cluster, old.cluster, old, e)
			v.resume()
		}
		v.know(w)
		v.forgive(w)
		for uid, home := range v.homes {
			v.noteComplete(w.in(home.namespace).workloads[uid])
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

// takeOver makes a domain continue from where the same domain of the previous version is.
func (v *version) takeOver(d, from *domain, old *version, e event) {
	d.inherit(from, v.matches(old.sequenceFacts), e)
	v.takeUp(d, old, e)
	if v.sequenceFacts == old.sequenceFacts {
		d.fresh = false // the groups are asked for as before: labels of a namespace changed
	}
}

// takeUp counts time-outs anew if a suspension is lifted that the scheduler cannot have missed.
func (v *version) takeUp(d *domain, old *version, e event) {
	missed := !old.suspendedAt.IsZero() && !old.suspendedAt.Before(v.rules.windowBefore(e.arrived))
	if v.continuous && old.suspended && !v.suspended && !missed {
		d.resumeAt(e.earliest, e.arrived)
	}
}

// domainOn returns how far a node is. It is worked out if it was not known.
func (v *version) domainOn(node string, old *version, w *world, e event) *domain {
	d := v.nodes[node]
	if d == nil {
		d = newDomain(v.sequenceFacts, v.rules)
		v.nodes[node] = d
		if old != nil && old.nodes[node] != nil {
			old.nodes[node].settle(e.arrived)
			v.takeOver(d, old.nodes[node], old, e)
		}
		v.weighAllOn(node, d, w, e, noNews)
	}
	return d
}

func (v *version) weighAllOn(node string, d *domain, w *world, e event, says newsFor) {
	d.settle(e.arrived)
	if facts := w.nodes[node]; facts != nil {
		d.releaseRoots(func(int) time.Time { return v.firstReleaseOn(facts) })
	}
	for g := range v.groups {
		d.update(g, v.weighOn(node, g, w), e, says(g))
	}
	d.fresh = false
	v.settle(d, e)
}

// settle passes what is passed by now. What the scheduler may have seen pass before it saw a suspension is released.
func (v *version) settle(d *domain, e event) {
	d.settle(e.arrived)
	if !v.suspendedAt.IsZero() && !v.suspendedAt.Before(v.rules.windowBefore(e.arrived)) {
		d.hasReleasedAllOpen()
	}
}

func (v *version) place(p *pod) {
	group, ok := v.groupOf(p.podFacts)
	if !ok || p.terminating {
		return
	}
	v.placed[p.NamespacedName] = group
	v.members[group].add(p.NamespacedName, p.has(v.groups[group].reached))
}

func (v *version) displace(name types.NamespacedName) {
	group, ok := v.placed[name]
	if !ok {
		return
	}
	delete(v.placed, name)
	v.members[group].remove(name)
}

// house finds the group that expects a workload's pods.
func (v *version) house(f *workloadFacts) {
	if group, ok := v.placeOf(f.template, v.groupsIn(f.Namespace)); ok && !isOurs(f.Namespace, f.template) && !f.aside {
		v.homes[f.uid] = place{f.Namespace, group}
	} else {
		delete(v.homes, f.uid)
	}
}

// groupOf returns the index of the group that takes the pod, and whether there is one.
func (v *version) groupOf(p *podFacts) (int, bool) {
	return v.sequenceFacts.groupOf(p, v.world.isAside(p), v.groupsIn(p.Namespace))
}

// governs reports whether somebody could have held the pod: our scheduler, or the gate while the sequence was in force. Nobody can hold
// a static pod.
func (v *version) governs(p *pod) bool {
	_, lifted := p.lifted[v.uid]
	return !p.static && (v.rules.schedulers.Has(p.schedulerName) || lifted)
}

// domainOf is nil for a pod on a node that was never known.
func (v *version) domainOf(p *pod) *domain {
	if v.perNode {
		return v.nodes[p.podFacts.node]
	}
	return v.cluster
}

// domains are all that the version has.
func (v *version) domains() []*domain {
	if v.cluster != nil {
		return []*domain{v.cluster}
	}
	return slices.Collect(maps.Values(v.nodes))
}

func (g groupFacts) complete() bool { return g.reached == v1alpha1.RequireComplete }
