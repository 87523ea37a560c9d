package sequence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
)

// pod is a pod, and what it is to the engine. What it points to is shared: with other pods, and with who reads what is published.
type pod struct {
	*inventory.Pod // never nil, and never written to: another version takes its place
	*unbound       // never nil, see newPod

	places *[]membership // see memberships; never written to
}

// unbound is what matters of a pod only while it has no node. Pods that have one share a value that is read-only.
type unbound struct {
	// kept are its places in sequences of scope Node that keep it from some nodes, see needs; nil if none does.
	kept *[]membership
	// opened counts how often a node opened to it, so that it is to be tried again.
	opened uint64

	published *publishedPod
}

// bound is what all pods that have a node share.
var bound = &unbound{}

// newPod returns a pod of which nothing is known.
func newPod() *pod { return &pod{Pod: inventory.NoPod(), unbound: bound} }

// membership is a pod's place in one sequence.
type membership struct {
	sequence *sequence
	group    int
}

// lacking returns the groups that are not ready and that members of the group wait for.
func (m membership) lacking() order.GroupSet {
	d, lacking := m.sequence.nodeless, order.GroupSet(0)
	for i := range d.waitsFor(m.group).All() {
		if !d.looksSatisfied(i) {
			lacking.Add(i)
		}
	}
	return lacking
}

// notPassedAtBinding returns the groups that the pod waits for and that were not passed when it was bound, as their pods and the node
// themselves say. Nothing says which groups are for a node that is not known: there no group counts as not passed. ready remembers when the
// pods of groups turned ready, for the next question.
func (m membership) notPassedAtBinding(p *pod, now time.Time, ready map[*groupState]time.Time) order.GroupSet {
	d, missing := m.sequence.domainOf(p), order.GroupSet(0)
	if d.isNode() && d.node == nil {
		return missing
	}
	for i := range m.sequence.groups[m.group].Awaited.All() {
		if d.applies(m.sequence.groups[i]) && !d.wasPassedAt(i, p.BoundAt.Time(), now, ready) {
			missing.Add(i)
		}
	}
	return missing
}

// mayHaveStartedEarly reports whether the pod was bound without leave of its sequence, as far as the pod and the sequence themselves say:
// by our scheduler before the sequence was created, or by another scheduler at any time, because nothing holds the pods of its template. A
// pod of another scheduler that was created later and had its gate lifted was released.
func (m membership) mayHaveStartedEarly(p *pod) bool {
	s := m.sequence
	created := s.object.CreationTimestamp.Time
	bound := p.BoundAt.Time()
	return p.Bound() && !p.Terminating && !p.Succeeded && !p.Failed && !p.Mirror &&
		s.groups[m.group].Awaited != 0 && s.canCheckOrder() &&
		(!bound.After(created) || !s.knowledge.settings.isOurs(p) && !(p.GateLifted && p.CreatedAt.Time().After(created))) && !bound.Before(created.Add(-oneInstallation))
}

// holdFacts returns what decides whether the sequence holds pods of the group, as far as that is the same for all of them and at any
// time. It needs no lock.
func (m membership) holdFacts() hold.Facts {
	s := m.sequence
	return hold.Facts{
		DryRun: s.DryRun, Suspended: s.Suspended, PerNode: s.PerNode, Continuous: s.Continuous, Waits: s.groups[m.group].Awaited != 0,
	}
}

// closed says which group a node that is not open waits for.
func (m membership) closed(t standing, node string) report.Decision {
	s, d := m.sequence, m.heldOn(node)
	switch awaited := s.groups[m.group].Awaited; {
	case !t.known:
		d.Reason = report.HeldByUnknownNode
	case t.passed.Contains(awaited):
		d.Reason = report.HeldBySuspension
	default:
		d.Group = (awaited &^ t.passed).First()
		d.Title = s.groups[d.Group].Title
	}
	return d
}

// heldOn is the decision on a pod that may not go to a node, without the reason.
func (m membership) heldOn(node string) report.Decision {
	s := m.sequence
	return report.Decision{
		Held: true, Sequence: s.Key, Overridden: s.Override.Suspend, Groups: len(s.groups), Group: m.group, Title: s.groups[m.group].Title, Node: node,
	}
}

// openNodes returns the nodes that are open to pods with this place. They are looked at anew if some may have opened or closed since.
func (m membership) openNodes() *OpenNodes {
	now := m.sequence.opens.Load()
	if cached := m.sequence.groups[m.group].open.Load(); cached != nil && cached.opens == now {
		return cached
	}
	open := &OpenNodes{to: m, opens: now, Names: sets.Set[string]{}}
	closed := map[standing]int{}
	m.sequence.domainsMu.RLock()
	for name, d := range m.sequence.domains {
		switch t := d.published.standing; {
		case t.isOpen(m.group):
			open.Names.Insert(name)
		case t.known:
			closed[t]++
		}
	}
	m.sequence.domainsMu.RUnlock()
	if len(open.Names) == 0 {
		counts := map[string]int{}
		for t, count := range closed {
			counts[m.closed(t, "").FilterMessage()] += count
		}
		var reasons []string
		for message, count := range counts {
			reasons = append(reasons, fmt.Sprintf("%d %s", count, message))
		}
		slices.Sort(reasons)
		open.Why = strings.Join(reasons, ", ")
	}
	m.sequence.groups[m.group].open.Store(open)
	return open
}

// reachesTheSame reports whether another version of the pod has reached the same, where the groups that count it ask for what CountsAs
// does not compare.
func (p *pod) reachesTheSame(view *pod) bool {
	for _, m := range p.memberships() {
		at := member{p, m.sequence.domainOf(p), m.group}
		for i := range at.groups().All() {
			required := m.sequence.groups[i].requirement()
			if !required.IsCommon() && p.Reached(required) != view.Reached(required) {
				return false
			}
		}
	}
	return true
}

// markDirty marks for re-evaluation the domains that count the pod.
func (p *pod) markDirty(tx *transaction) {
	for _, m := range p.memberships() {
		tx.markDirty(m.sequence.domainOf(p))
	}
}

// mark marks the pod wherever it is a member.
func (p *pod) mark(tx *transaction) {
	for _, m := range p.memberships() {
		tx.mark(member{p, m.sequence.domainOf(p), m.group})
	}
}

// runsOn returns the name of the pod's node; empty if it has none, or has ended.
func (p *pod) runsOn() string {
	if p.Failed || p.Succeeded {
		return ""
	}
	return p.Node
}

func (p *pod) key() types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// setMemberships gives the pod its places. Most pods have one, and all that have only that share it.
func (p *pod) setMemberships(memberships []membership) {
	switch len(memberships) {
	case 0:
		p.places = nil
	case 1:
		p.places = memberships[0].sequence.groups[memberships[0].group].onlyPlace
	default:
		p.places = &memberships
	}
}

// viewPod is the pod as the engine has not entered it yet.
func viewPod(object *corev1.Pod) *pod { return withFacts(inventory.ViewPod(object)) }

// withFacts is viewPod for facts that are known.
func withFacts(facts inventory.Pod) *pod {
	view := &pod{Pod: &facts, unbound: bound}
	if !view.Bound() {
		view.unbound = &unbound{}
	}
	return view
}

// inheritFrom copies to a view what was known of the pod that it replaces.
func (p *pod) inheritFrom(before *pod) {
	if p.Bound() {
		if before.published != nil {
			p.unbound = &unbound{published: before.published} // until the transaction is settled, see published.withdraw
		}
		return
	}
	p.published, p.opened = before.published, before.opened
	if before.Pin() != p.Pin() {
		p.opened++
	}
}

// membershipIn returns the pod's place in a sequence, if it has one.
func (p *pod) membershipIn(s *sequence) (membership, bool) {
	for _, m := range p.memberships() {
		if m.sequence == s {
			return m, true
		}
	}
	return membership{}, false
}

// isGatedFor reports whether the pod carries the gate of the sequence, or the gate that it was given because it names a PodSequence.
func (p *pod) isGatedFor(s *sequence) bool {
	return p.HasGate(s.Gate) || (order.NamedSequence(&p.Labels) != "" && p.HasGate(v1alpha1.DefaultSchedulingGateName))
}

// isOrdered reports whether any of these sequences is more than a dry run.
func isOrdered(memberships []membership) bool {
	return slices.ContainsFunc(memberships, func(m membership) bool { return !m.sequence.DryRun })
}

// memberships are the pod's places, in no more than one group of a sequence. No element is ever written to.
func (p *pod) memberships() []membership { return membershipsIn(p.places) }

// needs are the pod's places that keep it from some nodes. No element is ever written to: who reads what is published reads them too.
func (p *pod) needs() []membership { return membershipsIn(p.kept) }

// isStray reports whether no group of the PodSequence with this name, which the pod names, has the pod. One that ended or is going needs no
// order any more.
func (p *pod) isStray(name string) bool {
	if p.Terminating || p.Succeeded || p.Failed || p.IsUnordered() {
		return false
	}
	return !slices.ContainsFunc(p.memberships(), func(m membership) bool {
		return m.sequence.Key.Namespace == p.Namespace && m.sequence.Key.Name == name
	})
}

func membershipsIn(places *[]membership) []membership {
	if places == nil {
		return nil
	}
	return *places
}

// replacePods enters all pods that there are.
func (k *knowledge) replacePods(objects []*corev1.Pod, tx *transaction) {
	present := make(map[types.UID]struct{}, len(objects))
	for _, object := range objects {
		present[object.UID] = struct{}{}
		k.applyPod(viewPod(object), tx)
	}
	for name, ns := range k.namespaces {
		for _, p := range ns.pods {
			if _, ok := present[p.UID]; !ok {
				k.removePod(name, p.Name, p.UID, tx)
			}
		}
	}
}

func (k *knowledge) applyPod(view *pod, tx *transaction) {
	ns := k.namespaces.ensure(view.Namespace)
	p := ns.pods[view.Name]
	if p != nil && !inventory.Newer(view.ResourceVersion, p.ResourceVersion) {
		return
	}
	if p != nil {
		view.SeenAt(k.now, p.Pod)
	} else {
		view.SeenAt(k.now, nil)
	}
	view.FollowNode(k.nodes.viewOf(view.Node), k.nodes.mayExist(view.Node))
	view.OfHook = k.workloads.isOfHook(view.Pod)
	if p != nil && p.CountsAs(view.Pod) && p.reachesTheSame(view) {
		renewed := *p.Pod
		renewed.Renew(view.Pod, &k.interner)
		renewed.SeenAt(k.now, p.Pod)
		p.Pod = &renewed
		tx.entered = append(tx.entered, p)
		return
	}

	// Another pod of the same name takes the old one's place in one step: in between, the group would look smaller.
	if p == nil {
		p = newPod()
		ns.pods[view.Name] = p
	}
	isNew := p.UID != view.UID
	replace := isNew || !p.SameMembership(view.Pod)
	p.markDirty(tx)
	if !isNew && view.Terminating && !p.Terminating {
		rememberPod(p, tx)
	}
	k.update(ns, p, view, replace, tx)
	tx.entered = append(tx.entered, p)
	if isNew {
		reviewFailuresOf(inventory.KindPod, ns, p.Namespace, p.Name, tx)
	}
}

func (k *knowledge) removePod(namespace, name string, uid types.UID, tx *transaction) {
	k.unseen.take(uid)
	ns := k.namespaces[namespace]
	if ns == nil {
		return
	}
	p := ns.pods[name]
	if p == nil || p.UID != uid {
		return
	}
	rememberPod(p, tx)
	delete(ns.pods, name)
	reviewFailuresOf(inventory.KindPod, ns, namespace, name, tx)
	k.nodes.movePod(p, p.runsOn(), "")
	k.published.withdraw(p)
	reviewStart(p, p.memberships(), true)
	p.markDirty(tx)
	k.workloads.countOnNode(p, -1, tx)
	k.leave(p, tx)
	ns.forgetStray(p, tx)
	k.unplaced.forget(p)
	p.setMemberships(nil)
	k.forgetIfEmpty(namespace)
}

// update turns p into view. Memberships are worked out anew only if they may have changed, and it joins groups anew only if it may
// count elsewhere: in other groups, or on another node.
func (k *knowledge) update(n *namespace, p, view *pod, replace bool, tx *transaction) {
	k.interner.Intern(view.Pod, p.Pod)
	k.unplaced.forget(p) // under the version that it was entered with
	view.inheritFrom(p)
	mayBeLifted := len(k.settings.published(p.published, view.UID).lift) > 0
	view.GateLifted = view.UID == p.UID && p.GateLifted || mayBeLifted && len(p.Gates()) > len(view.Gates())
	moves := replace || view.Node != p.Node
	k.workloads.countOnNode(p, -1, tx)
	if moves {
		k.leave(p, tx)
	}
	n.forgetStray(p, tx)
	before := *p
	*p = *view
	k.nodes.movePod(p, before.runsOn(), p.runsOn())
	if p.places = before.places; replace {
		p.setMemberships(n.place(p))
	}
	n.reviewStray(p, tx)
	reviewStart(p, before.memberships(), before.UID != p.UID)
	if p.Bound() && (!before.Bound() || before.UID != p.UID) {
		queueOrderChecks(p, tx)
	}
	k.workloads.countOnNode(p, +1, tx)
	switch {
	case !moves:
		p.mark(tx)
	case before.UID != p.UID:
		k.join(p, nil, tx)
	default:
		k.join(p, &before, tx)
	}
	k.unplaced.enter(p, k.settings.needs(p))
}
