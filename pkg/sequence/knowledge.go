package sequence

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/progress"
)

// knowledge is what the API server last said, and what follows from it. The Engine's lock sees to it that one event at a time changes it,
// and that nobody looks at it meanwhile, except at what says that it waits for no event: published, unseen, and the settings.
//
// Each of its parts has one job, and none has another. What needs several of them is a method of knowledge: to enter what changed, to
// settle what follows, to judge pods.
type knowledge struct {
	settings settings
	world

	// What follows from that.
	unplaced unplaced

	// When time alone changes something.
	alarms progress.Alarms[*domain]
	trials progress.Alarms[member]
	// overrides ends the annotations of sequences that override specs for a time.
	overrides progress.Alarms[*sequence]
	// retries try pods on nodes that have opened, see tryOn.
	retries progress.Alarms[*sequence]

	// What readers see.
	published published
	unseen    unseenPods
}

func newKnowledge(config Config) *knowledge {
	k := &knowledge{
		settings: newSettings(config), unseen: unseenPods{versions: map[types.UID]string{}},
		world: world{
			namespaces: namespaces{}, workloads: newWorkloads(), nodes: newNodes(), consents: consents{facts: map[string]namespaceFacts{}},
			sequences: map[types.NamespacedName]*sequence{}, perNode: map[*sequence]struct{}{},
		},
	}
	k.unplaced = newUnplaced(&k.nodes)
	return k
}

// world is what the API server last said, with indexes. Only methods named apply, remove and replace change it.
type world struct {
	now        time.Time // of the last Tick
	namespaces namespaces
	consents   consents
	workloads  workloads
	nodes      nodes
	interner   inventory.Interner

	// All sequences, and those of scope Node.
	sequences map[types.NamespacedName]*sequence
	perNode   map[*sequence]struct{}
}

// namesake returns the UID of the object that has the name of the failed one, which may be that itself; empty if there is none. A failed pod
// that is going is gone.
func (w *world) namesake(f *v1alpha1.Failure) types.UID {
	if inventory.Kind(f.Kind) == inventory.KindPod {
		if p := w.namespaces.pods(f.Namespace)[f.Name]; p != nil && (p.UID != f.UID || !p.Terminating) {
			return p.UID
		}
	} else if made := w.workloads.byName[inventory.WorkloadKey{Kind: inventory.Kind(f.Kind), Namespace: f.Namespace, Name: f.Name}]; made != nil {
		return made.UID
	}
	return ""
}

func (k *knowledge) nextWake() time.Time {
	return sooner(sooner(k.alarms.Next(), k.trials.Next()), sooner(k.overrides.Next(), k.retries.Next()))
}

// addMembers makes a sequence known to a namespace, and enters the pods and workloads there that belong to it. affected gets the pods.
func (k *knowledge) addMembers(s *sequence, name string, groups order.GroupSet, affected map[*pod]struct{}, tx *transaction) {
	k.namespaces.enter(s, name, groups, tx)
	for w := range k.workloads.byNamespace[name] {
		k.placeIn(w, s, false, tx)
	}
	for _, p := range k.namespaces[name].pods {
		if m, ok := s.place(p, groups); ok {
			affected[p] = struct{}{}
			k.add(p, m, tx)
			k.namespaces[name].reviewStray(p, tx)
		}
	}
}

// removeMembers undoes addMembers.
func (k *knowledge) removeMembers(s *sequence, name string, affected map[*pod]struct{}, tx *transaction) {
	for _, p := range k.namespaces[name].pods {
		if _, is := p.membershipIn(s); is {
			affected[p] = struct{}{}
			tx.markDirty(s.domainOf(p))
			k.drop(p, s, tx)
			k.namespaces[name].reviewStray(p, tx)
		}
	}
	for w := range k.workloads.byNamespace[name] {
		if demand := w.demands[s]; demand != nil {
			k.workloads.withdrawDemand(demand, tx)
		}
	}
	k.namespaces.leave(s, name, tx)
}

// add enters a pod into a sequence, drop takes it out.
func (k *knowledge) add(p *pod, m membership, tx *transaction) {
	p.setMemberships(append(p.memberships(), m))
	if len(p.memberships()) == 1 {
		k.link(p, +1, tx)
	}
	k.workloads.join(p, m, p, tx) // that it is ready is no news
}

func (k *knowledge) drop(p *pod, s *sequence, tx *transaction) {
	for i, m := range p.memberships() {
		if m.sequence == s {
			k.workloads.leave(p, m, tx)
			k.unplaced.forget(p)
			if len(p.memberships()) == 1 {
				k.link(p, -1, tx)
			}
			p.setMemberships(append(p.memberships()[:i:i], p.memberships()[i+1:]...))
			return
		}
	}
}

// review has a pod judged anew whose memberships may have changed.
func (k *knowledge) review(p *pod, tx *transaction) {
	k.unplaced.enter(p, k.settings.needs(p))
	tx.dirtyPods = append(tx.dirtyPods, p)
}

// link makes a pod that belongs to some sequence known to its owner, or takes it from there if sign is -1.
func (k *knowledge) link(p *pod, sign int, tx *transaction) {
	if len(p.memberships()) == 0 || p.OwnerUID == "" {
		return
	}
	if sign > 0 {
		k.workloads.ownedPods.add(p.OwnerUID, p)
	} else {
		k.workloads.ownedPods.remove(p.OwnerUID, p)
	}
	k.workloads.countRevision(p, sign, tx)
}

// join makes the pod a member of its groups. before is the same pod as it was, or nil.
func (k *knowledge) join(p, before *pod, tx *transaction) {
	k.link(p, +1, tx)
	for _, m := range p.memberships() {
		k.workloads.join(p, m, before, tx)
	}
}

// leave undoes join.
func (k *knowledge) leave(p *pod, tx *transaction) {
	for _, m := range p.memberships() {
		k.workloads.leave(p, m, tx)
	}
	k.link(p, -1, tx)
}

func (k *knowledge) forgetIfEmpty(name string) {
	if ns := k.namespaces[name]; ns != nil && len(ns.pods) == 0 && len(ns.sequences) == 0 {
		delete(k.namespaces, name)
	}
}

func (k *knowledge) placeIn(w *workload, s *sequence, completed bool, tx *transaction) {
	if !w.Counts() {
		return
	}
	group, ok := s.GroupOfTemplate(w.Namespace, labels.Set(w.Labels), s.groupsByNamespace[w.Namespace])
	if !ok || (s.PerNode && w.Kind != inventory.KindDaemonSet) {
		return
	}
	demand := &demand{workload: w, sequence: s, group: group}
	w.demands[s] = demand
	s.groups[group].demands[demand] = struct{}{}
	if s.PerNode {
		demand.markOnNodes(tx)
		return
	}
	demand.countNames()
	demand.update(completed, tx)
}

// placeWorkload gives the workload its demand in every sequence of its namespace that selects its pods.
func (k *knowledge) placeWorkload(w *workload, completed bool, tx *transaction) {
	ns := k.namespaces[w.Namespace]
	if ns == nil || !w.Counts() {
		return
	}
	for s := range ns.sequences {
		k.placeIn(w, s, completed, tx)
	}
}

// markNamingDirty marks for re-evaluation the pods that name a sequence which came or went.
func (k *knowledge) markNamingDirty(key types.NamespacedName, tx *transaction) {
	for _, p := range k.namespaces.pods(key.Namespace) {
		if !p.Bound() && order.NamedSequence(&p.Labels) == key.Name {
			tx.dirtyPods = append(tx.dirtyPods, p)
		}
	}
}

// markUnselectedDirty marks for re-evaluation the pods of a namespace that no sequence selects.
func (k *knowledge) markUnselectedDirty(namespace string, tx *transaction) {
	tx.requiring = append(tx.requiring, namespace)
	for _, p := range k.namespaces.pods(namespace) {
		if !p.Bound() && len(p.memberships()) == 0 {
			tx.dirtyPods = append(tx.dirtyPods, p)
		}
	}
}

// find is the pod as the engine knows it, or as much of it as can be worked out from the object.
func (k *knowledge) find(object *corev1.Pod) (p *pod, known bool) {
	ns := k.namespaces[object.Namespace]
	if ns != nil {
		p = ns.pods[object.Name]
	}
	if p != nil && !inventory.Newer(object.ResourceVersion, p.ResourceVersion) {
		return p, true
	}
	unseen := viewPod(object)
	unseen.OfHook = k.workloads.isOfHook(unseen.Pod)
	if p != nil && p.UID == object.UID && p.SameVerdict(unseen.Pod) {
		return p, true
	}
	if ns != nil {
		unseen.setMemberships(ns.place(unseen))
	}
	return unseen, false
}

// publish publishes what the engine says of the pod, and returns it.
func (k *knowledge) publish(p *pod) verdict {
	if p.Bound() {
		k.published.withdraw(p)
		return verdict{}
	}
	is, old := k.judge(p), p.published
	if old != nil && old.Pod == p.Pod && old.places == p.places && slices.Equal(old.needs(), is.needs) {
		old.opened, old.reason = is.opened, is.reason
		was := old.held.Swap(is.held)
		if was || is.held {
			old.refused.Store(nil) // its scheduler has to say again why it finds no node
		}
		return is
	}
	p.published = &publishedPod{
		Pod: p.Pod, places: p.places, kept: p.kept, opened: is.opened, reason: is.reason,
	}
	p.published.held.Store(is.held)
	if old != nil && old.UID == p.UID {
		if !is.held && !old.held.Load() && slices.Equal(old.needs(), is.needs) {
			p.published.refused.Store(old.refused.Load())
		}
	}
	k.published.pods.Store(p.key(), p.published)
	return is
}

// publishExisting publishes which of the sequences of a transaction are there, or which are there no more.
func (k *knowledge) publishExisting(tx *transaction, there bool) {
	for _, key := range tx.edited {
		switch is := k.sequences[key] != nil; {
		case is && there:
			k.published.existing.sequences.Store(key, nil)
		case !is && !there:
			k.published.existing.sequences.Delete(key)
		}
	}
}

// publishDomains publishes how far the domains are.
func (k *knowledge) publishDomains(tx *transaction) {
	for i := range tx.dirtyDomains {
		d := &tx.dirtyDomains[i]
		if d.dirty = false; d.sequence.registered {
			d.before = d.publish()
			noteReleases(d.domain, d.before)
		}
	}
}

// settle works out what the transaction changed, and publishes it. What differs from what was published is reported.
//
// Pods come last: a pod may be in several sequences, and who reads that it is released must find the nodes open to which it may
// be scheduled. Whether they are looked at in this order or that makes no difference.
func (k *knowledge) settle(tx *transaction) Changes {
	changes := Changes{Requiring: tx.requiring}
	k.settleSums(tx)
	for _, key := range tx.edited {
		changes.touch(key)
		changes.Advanced = append(changes.Advanced, key)
	}
	for _, key := range tx.strayed {
		if k.sequences[key] != nil {
			changes.touch(key)
		}
	}
	k.publishExisting(tx, false)
	for _, d := range tx.dirtyDomains {
		if d.sequence.registered {
			k.advance(d.domain, tx, &changes)
		}
	}
	k.publishDomains(tx)
	k.settleNodes(tx)
	for _, name := range tx.namespaces {
		k.published.publishNamespace(name, k.namespaces[name])
	}
	k.publishExisting(tx, true)
	for _, p := range tx.entered {
		k.settleEntered(&changes, p)
	}
	for _, p := range tx.dirtyPods {
		k.settlePod(&changes, p)
	}
	for _, d := range tx.dirtyDomains {
		if d.sequence.registered {
			k.settleDomain(&changes, d)
		}
	}
	if len(tx.toCheckOrder) > 0 {
		checkOrder(tx, k.now)
	}
	k.dropDomains(tx)
	return changes
}

// advance brings the domain up to its sums and to the time.
func (k *knowledge) advance(d *domain, tx *transaction, changes *Changes) {
	d.evaluate(k)
	completed, passed := d.Completed, d.Passed
	d.Advance(d.progressFacts(), k.now)
	if d.Passed != passed && d.sequence.failures.mayCount() {
		for i := range (d.Passed &^ passed).All() {
			d.groupState(i)
		}
		d.sequence.failures.review(tx)
		d.evaluate(k) // of what passed just now nothing is expected that is gone
		d.Advance(d.progressFacts(), k.now)
	}
	if d.markCompleted(completed) {
		d.evaluate(k) // status says that groups were complete of which nothing is left
		d.Advance(d.progressFacts(), k.now)
	}
	k.alarms.Set(&d.alarm, d.NextWake(d.progressFacts(), k.now))
	changes.touch(d.sequence.Key)
	if d.Ripe != 0 {
		changes.Ripe = append(changes.Ripe, d.sequence.Key)
	}
}

// settleNodes publishes that some nodes may be open to other groups than before, and marks for re-evaluation the pods for which that
// matters.
func (k *knowledge) settleNodes(tx *transaction) {
	opened := map[membership]int{}
	for _, d := range tx.dirtyDomains {
		if !d.sequence.registered || !d.isNode() || d.before.standing == d.published.standing {
			continue
		}
		d.sequence.opens.Add(1)
		k.unplaced.markPinsTo(d, tx)
		for group := range (d.published.open() &^ d.before.open()).All() {
			opened[membership{d.sequence, group}] += k.nodes.roomOn(d.name)
		}
	}
	k.unplaced.markPinsDirty(tx)
	k.tryOn(opened, tx)
}

// dropDomains forgets the domains of nodes that are gone.
func (k *knowledge) dropDomains(tx *transaction) {
	for _, d := range tx.dirtyDomains {
		if d.isGone() {
			k.alarms.Set(&d.alarm, time.Time{})
			d.sequence.domainsMu.Lock()
			delete(d.sequence.domains, d.name)
			d.sequence.domainsMu.Unlock()
		}
	}
}

// settlePod publishes the verdict on a pod, and reports how it differs from the one that was published. To look at a pod twice
// reports nothing twice.
func (k *knowledge) settlePod(c *Changes, p *pod) {
	was := k.settings.published(p.published, p.UID)
	k.report(c, p, was, k.publish(p))
}

// settleEntered is settlePod for a new version of a pod. Who asked about the pod before the verdict was published has left a
// note, and holds it.
func (k *knowledge) settleEntered(c *Changes, p *pod) {
	was := k.settings.published(p.published, p.UID)
	is := k.publish(p)
	if k.unseen.take(p.UID) {
		was = verdict{held: true}
	}
	k.report(c, p, was, is)
}

// report reports how the verdict on a pod differs from an earlier one.
func (k *knowledge) report(c *Changes, p *pod, was, is verdict) {
	switch {
	case p.Bound(), p.Terminating:
	case is.held:
		if !was.held || was.reason != is.reason {
			c.Held = append(c.Held, p.key())
		}
		if p.Nominated && k.settings.isOurs(p) {
			c.Nominated = append(c.Nominated, p.key())
		}
	case was.held, was.opensMore(is), was.liftsMore(is):
		c.Released = append(c.Released, Release{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, SchedulerName: p.SchedulerName, CreatedAt: p.CreatedAt.Time(), Gates: is.lift,
			StillGated: len(is.lift) < len(p.Gates()), Again: !was.held,
		})
	}
}

// settleDomain reports what the sequence of a domain waits for from now on, and what the domain means to pods.
func (k *knowledge) settleDomain(c *Changes, d dirtyDomain) {
	s, before, now := d.sequence, d.before, d.published
	if s.DryRun || s.PerNode {
		return
	}
	// Who waits for a group is told when it fails, and when its pass cannot be recorded for long.
	if before.passed != now.passed || before.failed != now.failed || before.ripe != now.ripe {
		c.Advanced = append(c.Advanced, s.Key)
	}
	if before.unpublished {
		return // its pods are looked at by themselves
	}
	for i := range (before.released ^ now.released).All() {
		for p := range d.peek(i).members {
			k.settlePod(c, p)
		}
	}
}

// settleSums brings the sums of all groups up to the facts.
func (k *knowledge) settleSums(tx *transaction) {
	for _, at := range tx.counted {
		if _, isMember := at.domain.peek(at.group).members[at.pod]; !isMember {
			continue // it has left since
		}
		for i := range at.groups().All() {
			at.domain.find(i).put(at, k.workloads.contribution(at, i), tx)
		}
	}
	for _, demand := range tx.demands {
		demand.endFailures(tx)
	}
	for _, demand := range tx.demands {
		demand.settle()
	}
	tx.counted, tx.demands = nil, nil
}

// tryOn tries pods on nodes that have opened, no more than there is room for, and the others a moment later. room has the number of pods by the
// place to which nodes opened.
func (k *knowledge) tryOn(room map[membership]int, tx *transaction) {
	for m, left := range room {
		if k.unplaced.markOpened(m, left, tx) {
			continue
		}
		if m.sequence.untried == 0 {
			k.retries.Set(&m.sequence.retry, k.now.Add(restAfter))
		}
		m.sequence.untried.Add(m.group)
	}
}

// tryRest tries all pods of the groups of which some were not tried on nodes that have opened.
func (k *knowledge) tryRest(tx *transaction) {
	for _, s := range slices.Collect(k.retries.Due(k.now)) {
		for group := range s.untried.All() {
			k.unplaced.markOpened(membership{s, group}, math.MaxInt, tx)
		}
		s.untried = 0
	}
}

// asksNodes reports whether some sequence asks for conditions of nodes of this type. Others change nothing.
func (k *knowledge) asksNodes(condition string) bool {
	for s := range k.perNode {
		if s.AsksNode(condition) {
			return true
		}
	}
	return false
}
