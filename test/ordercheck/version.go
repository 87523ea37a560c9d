package ordercheck

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// version is one spec of one sequence, in namespaces with the labels that they have, and how far its groups have come. It is kept up to
// date while it is in force and, for the race allowance, as long as the version after it is young.
type version struct {
	placement
	rules       *rules
	since       revision
	arrived     time.Time // zero for one older than the watch: nothing can race with it
	suspendedAt time.Time // zero unless it was suspended while the referee watched
	before      *version  // nil when there was no sequence

	assumed int // how many passes were taken on trust
	// passedAs are the definitions under which groups of this sequence were passed, in this version or another.
	passedAs sets.Set[string]
	// knew are the Jobs and pods that were there under this sequence, in any version, as far as they failed; forgiven those of them
	// that it need not mind any more now that they are lost.
	knew, forgiven sets.Set[types.UID]
	cluster        *domain            // nil if the order holds on each node
	nodes          map[string]*domain // nil if it holds across the cluster
}

// newVersion works out where a spec stands in a world as of an event. What an older version of it knows of the leading
// groups that both share is taken over.
func newVersion(f *sequenceFacts, rules *rules, old *version, w *world, e event) *version {
	v := &version{
		placement: newPlacement(f, w), rules: rules,
		passedAs: sets.New[string](), knew: sets.New[types.UID](), forgiven: sets.New[types.UID](),
	}
	if old != nil {
		v.passedAs, v.knew, v.forgiven = old.passedAs, old.knew, old.forgiven
		old.forgive()
	}
	if f.perNode {
		v.nodes = map[string]*domain{}
		for node := range w.nodes {
			v.domainOn(node, old, e)
		}
	} else {
		v.cluster = newDomain(f, rules)
		if old != nil && old.cluster != nil {
			old.cluster.settle(e.arrived)
			v.takeOver(v.cluster, old.cluster, old, e)
			v.resume()
		}
		v.know()
		v.forgive()
		for uid, home := range v.homes {
			v.noteComplete(w.in(home.namespace).workloads[uid])
		}
		for g := range f.groups {
			v.cluster.update(g, v.muster(g).weigh(), e, news{})
		}
		v.cluster.fresh = false
		v.cluster.settle(e.arrived)
	}
	return v
}

// succeed makes the version that replaces this one. Passes carry over as far as the same members are asked for.
func (v *version) succeed(f *sequenceFacts, e event) *version {
	v.remember()
	next := newVersion(f, v.rules, v, v.world, e)
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
func (v *version) domainOn(node string, old *version, e event) *domain {
	d := v.nodes[node]
	if d == nil {
		d = newDomain(v.sequenceFacts, v.rules)
		v.nodes[node] = d
		if old != nil && old.nodes[node] != nil {
			old.nodes[node].settle(e.arrived)
			v.takeOver(d, old.nodes[node], old, e)
		}
		v.weighAllOn(node, d, e, noNews)
	}
	return d
}

func (v *version) muster(g int) muster { return muster{v, g, &v.groups[g], &v.members[g]} }

func (v *version) weighAllOn(node string, d *domain, e event, says newsFor) {
	d.settle(e.arrived)
	facts := v.world.nodes[node]
	if facts != nil {
		// The time of a group that no other is ahead of runs while nothing of it is there, too.
		d.releaseRoots(func(int) time.Time { return later(v.created, facts.node.CreationTimestamp.Time) })
	}
	for g := range v.groups {
		d.update(g, nodeMuster{v.muster(g), facts}.weigh(), e, says(g))
	}
	d.fresh = false
	v.settle(d, e)
}

// reweigh looks at groups again. Groups that were passed permanently need no look, unless an edit may ask since when they are
// satisfied.
func (v *version) reweigh(touched sets.Set[int], e event, says newsFor) {
	d := v.cluster
	d.settle(e.arrived)
	for _, g := range sets.List(touched) {
		if d.groups[g].passed && !v.continuous && !v.timed {
			continue
		}
		d.update(g, v.muster(g).weigh(), e, says(g))
	}
	v.settle(d, e)
}

// settle passes what is passed by now. What the scheduler may have seen pass before it saw a suspension is released.
func (v *version) settle(d *domain, e event) {
	d.settle(e.arrived)
	if !v.suspendedAt.IsZero() && !v.suspendedAt.Before(v.rules.windowBefore(e.arrived)) {
		d.hasReleasedAllOpen()
	}
}

// beginAnew forgets what was before a node of this name came, but for what a scheduler may not have seen end.
func (v *version) beginAnew(node string) {
	old := v.nodes[node]
	if old == nil {
		return
	}
	d := newDomain(v.sequenceFacts, v.rules)
	d.released = old.released
	for g := range d.groups {
		d.groups[g].passedUntil = old.groups[g].passedUntil
	}
	v.nodes[node] = d
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

// governs reports whether somebody could have held the pod: our scheduler, or the gate while the sequence was in force. Nobody can hold
// a static pod.
func (v *version) governs(p *pod) bool {
	_, lifted := p.lifted[v.uid]
	return !p.static && (v.rules.schedulers.Has(p.schedulerName) || lifted)
}

// allows reports whether the pod may be bound by this version, or by the one before when the two were racing.
// excused is true when only the race allowed it.
func (v *version) allows(b binding) (allowed, excused bool) {
	group, ok := v.groupOf(b.podFacts)
	if !ok || b.terminating || b.lifted[v.uid].inOrder {
		return true, false
	}
	if _, closed := v.closed(group, b); !closed {
		return true, false
	}
	if !v.racesWith(b) {
		return false, false
	}
	if v.before == nil {
		return true, true
	}
	allowed, _ = v.before.allows(b)
	return allowed, allowed
}

// racesWith reports whether the pod may have been on its way to a node when this version appeared, or before a scheduler had seen it.
func (v *version) racesWith(b binding) bool {
	return (b.ungated < v.since || v.rules.excusesUnseen && b.startsUnseen()) && !v.arrived.Before(v.rules.windowBefore(b.event.arrived))
}

// closed reports whether a group may not have its pods bound yet, and which group it waits for. It waits for itself if the
// sequence is suspended.
func (v *version) closed(group int, b binding) (awaited int, closed bool) {
	if v.dryRun {
		return 0, false
	}
	d := v.domainOf(b.pod)
	if d == nil {
		d = newDomain(v.sequenceFacts, v.rules) // nothing is known of the node
		return d.awaits(group)
	}
	d.settle(b.to)
	if !v.continuous {
		if awaited, waits := d.awaits(group); waits {
			return awaited, true
		}
	} else {
		from := v.rules.windowBefore(b.from)
		for _, g := range v.groups[group].ahead {
			if !d.passedSince(g, from, b.to) {
				return g, true
			}
		}
	}
	return group, !d.mayRelease(group)
}

// believe takes over what is known of a sequence older than the watch only by what its status records. Its groups may have been passed up
// to the start of the watch.
func (v *version) believe(began event) {
	v.assume(v.recorded, began)
	for _, d := range v.domains() { // the status does not tell of each node what was released there
		for g := range v.recordedReleased {
			d.hasReleased(g)
		}
		d.passedUntil(began.arrived)
	}
}

// assume takes groups for passed that the referee did not see pass.
func (v *version) assume(passed sets.Set[int], e event) {
	d := v.cluster
	if d == nil {
		return
	}
	for _, g := range sets.List(passed) {
		if d.groups[g].passed {
			continue
		}
		if !v.continuous {
			v.assumed++
		}
		d.assumePassed(g)
	}
	v.settle(d, e)
}

// remember notes what has been passed under the definitions of this version, and of those that it replaced a moment ago.
func (v *version) remember() {
	for ; v != nil; v = v.before {
		if v.cluster == nil {
			continue
		}
		for g, definition := range v.definitions {
			if v.cluster.groups[g].passed {
				v.passedAs.Insert(definition)
			}
		}
	}
}

// resume takes up what was passed under the same definitions before an edit that is now taken back: a pass holds while the definition is
// the one it was made under.
func (v *version) resume() {
	for g, definition := range v.definitions {
		if v.passedAs.Has(definition) && !v.cluster.groups[g].passed {
			v.cluster.assumePassed(g)
		}
	}
}

// follow brings this version, and those before it that still count, up to date with an event, which may be about another sequence.
func (v *version) follow(e event, take func(*version)) {
	if e.sequence != nil && e.sequence.uid != v.uid {
		return
	}
	for ; v != nil; v = v.stillBefore(e) {
		take(v)
	}
}

// followPod brings this version up to date with a pod. The pod is gone if the world does not have it any more. was is what it was before,
// nil if it is new.
func (v *version) followPod(was *podFacts, e event) {
	if len(v.groupsIn(e.pod.Namespace)) == 0 {
		return
	}
	touched := v.touchedBy(was)
	if e.pod.failed && e.pod.owner.uid == "" {
		v.knew.Insert(e.pod.uid)
	}
	if ns := v.world.in(e.pod.Namespace); len(ns.lost) > 0 || ns.found || was != nil && was.failed {
		touched = touched.Union(v.bySelector()) // one of the lost may have a successor, or be one more
	}
	v.displace(e.pod.NamespacedName)
	current := v.world.get(e.pod.Namespace, e.pod.Name)
	if current != nil {
		v.place(current)
		touched = touched.Union(v.touchedBy(current.podFacts))
	}
	if v.perNode {
		v.followOnNodes(was, current, e)
	} else {
		v.reweigh(touched, e, podNews(&v.placement, was, e))
	}
}

func (v *version) followOnNodes(was *podFacts, current *pod, e event) {
	touched := sets.New[string]()
	if was != nil {
		touched.Insert(was.node)
	}
	if current != nil {
		touched.Insert(current.node)
	}
	for node := range touched.Delete("") {
		v.weighAllOn(node, v.domainOn(node, nil, e), e, podNews(&v.placement, was, e))
	}
}

// followWorkload does the same for a workload.
func (v *version) followWorkload(was *workloadFacts, e event) {
	f := e.workload
	if len(v.groupsIn(f.Namespace)) == 0 {
		return
	}
	if e.deleted {
		delete(v.homes, f.uid)
	} else {
		v.house(f)
	}
	if f.job != nil {
		v.placePodsOf(f)
	}
	if !e.deleted {
		v.noteComplete(f)
	}
	if f.job != nil && f.job.failed && !e.deleted {
		v.knew.Insert(f.uid)
	}
	switch {
	case !v.perNode:
		v.reweigh(v.bySelector(), e, jobNews(was, e))
	case f.kind == "DaemonSet" && (e.deleted || was == nil || was.generation != f.generation || was.terminating != f.terminating):
		v.weighAllNodes(e, noNews)
	}
}

// followNode does the same for a node. was is what it was before, nil if it is new; turned are the pods on it of which that changes whether
// they count.
func (v *version) followNode(was *nodeFacts, turned []*pod, e event) {
	v.followTurned(turned, e)
	if v.perNode {
		node := e.node.node.Name
		if was == nil || was.node.UID != e.node.node.UID {
			v.beginAnew(node)
		}
		v.weighAllOn(node, v.domainOn(node, nil, e), e, conditionNews(v.groups, v.world.sayings[node]))
	} else {
		v.reweigh(v.withIdleDaemonSets(), e, noNews)
	}
}

// followTurned does the same as followPod for pods that count now and did not, or the other way round.
func (v *version) followTurned(turned []*pod, e event) {
	for _, p := range turned {
		if len(v.groupsIn(p.Namespace)) == 0 {
			continue
		}
		v.displace(p.NamespacedName)
		v.place(p)
		if !v.perNode {
			v.reweigh(v.touchedBy(p.podFacts), e, noNews)
		}
	}
}

// followObjects does the same for what a status says of objects. was is what it said before.
func (v *version) followObjects(was objectRecords, e event) {
	now := v.world.records[v.uid]
	if maps.Equal(was, now) {
		return
	}
	says := objectNews(v.groups, was, now)
	if v.perNode {
		v.weighAllNodes(e, says)
		return
	}
	touched := sets.New[int]()
	for g, group := range v.groups {
		if len(group.objects) > 0 {
			touched.Insert(g)
		}
	}
	v.reweigh(touched, e, says)
}

func (v *version) weighAllNodes(e event, says newsFor) {
	for node, d := range v.nodes {
		v.weighAllOn(node, d, e, says)
	}
}

// stillBefore returns the version before while a scheduler may still go by it. Nothing is passed in it any more afterwards.
func (v *version) stillBefore(e event) *version {
	if v.before != nil && v.arrived.Before(v.rules.windowBefore(e.arrived)) {
		v.remember()
		v.before = nil
	}
	return v.before
}

// noteComplete notes that a Job has completed: it makes up for those of its group that failed before it was created.
func (v *version) noteComplete(f *workloadFacts) {
	if g := v.homeOf(f); g >= 0 && v.cluster != nil && f.complete() && f.owner.kind != "CronJob" {
		p := &v.cluster.groups[g]
		p.failuresOver = later(p.failuresOver, f.created)
	}
}

// know notes what has failed while it is there.
func (v *version) know() {
	for _, namespace := range v.spans() {
		ns := v.world.in(namespace)
		for _, f := range ns.workloads {
			if f.job != nil && f.job.failed {
				v.knew.Insert(f.uid)
			}
		}
		for _, p := range ns.pods {
			if p.failed && p.owner.uid == "" {
				v.knew.Insert(p.uid)
			}
		}
	}
}

// forgive ends the losses that a spec skips, takes out of all groups, or has passed for good.
func (v *version) forgive() {
	for _, namespace := range v.spans() {
		for _, l := range v.world.in(namespace).lost {
			g, selected := v.groupOfLost(l)
			passed := selected && v.cluster != nil && !v.continuous && v.cluster.groups[g].passed
			if !selected || v.groups[g].skip || passed {
				v.forgiven.Insert(l.uid)
			}
		}
	}
}
