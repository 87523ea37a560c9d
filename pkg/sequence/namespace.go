package sequence

import (
	"maps"
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
)

// namespace has the pods of one namespace and the sequences that speak of them.
type namespace struct {
	pods map[string]*pod
	// selecting are the sequences that have a group by label, naming those that name a pod.
	selecting map[*sequence]struct{}
	naming    map[string]map[*sequence]struct{}
	// sequences are all of them, also those that have no members, and matchCost is what it costs to match a pod with them.
	sequences map[*sequence]struct{}
	matchCost int
}

// place works out the pod's memberships from its name and labels.
func (n *namespace) place(p *pod) []membership {
	var memberships []membership
	for s := range n.selecting {
		if m, ok := s.place(p); ok {
			memberships = append(memberships, m)
		}
	}
	for s := range n.naming[p.Name] {
		if _, done := n.selecting[s]; done {
			continue
		}
		if m, ok := s.place(p); ok {
			memberships = append(memberships, m)
		}
	}
	return memberships
}

// update turns p into view. Sums are kept by taking the old state out and entering the new; memberships are worked out
// anew only if they may have changed.
func (e *Engine) update(n *namespace, p, view *pod, replace bool, prepared *class, b *batch) {
	memberships := p.memberships
	if p.UID == view.UID {
		view.firstSeen = p.firstSeen
	}
	if view.placed.Moment = b.Moment; p.UID == view.UID && !replace {
		view.placed = p.placed
	}
	if view.firstSeen.Moment == 0 {
		view.firstSeen.Moment = b.Moment
	}
	e.withdraw(p, b)
	before := *p
	view.published = p.published
	*p = *view
	if p.memberships = memberships; replace {
		p.memberships = n.place(p)
	}
	e.enlist(p, b)
	for _, m := range p.memberships {
		if before.UID != p.UID {
			e.join(p, m, nil)
		} else {
			e.join(p, m, &before)
		}
	}
	e.classify(p, prepared)
}

// withdraw takes the pod out of everything that counts it.
func (e *Engine) withdraw(p *pod, b *batch) {
	for _, m := range p.memberships {
		e.leave(p, m)
	}
	e.declassify(p)
	e.delist(p, b)
}

// enlist makes a pod known to what made it.
func (e *Engine) enlist(p *pod, b *batch) {
	e.countOnNode(p, +1, b)
	if len(p.memberships) == 0 {
		return
	}
	e.joinGangs(p)
	if p.Owner.UID != "" {
		insert(e.workloads.made, p.Owner.UID, p)
	}
}

// delist undoes enlist.
func (e *Engine) delist(p *pod, b *batch) {
	e.countOnNode(p, -1, b)
	if len(p.memberships) == 0 {
		return
	}
	e.leaveGangs(p)
	if p.Owner.UID != "" {
		remove(e.workloads.made, p.Owner.UID, p)
	}
}

// countOnNode keeps count of the pods that a DaemonSet has on a node, whatever their labels: while it has one it makes no
// other.
func (e *Engine) countOnNode(p *pod, sign int, b *batch) {
	if !p.Bound() || p.Terminating || p.Failed || p.Owner.UID == "" {
		return
	}
	w := e.workloads.byUID[p.Owner.UID]
	if w == nil || w.Kind != inventory.KindDaemonSet {
		return
	}
	bump(&w.onNode, p.Node, sign)
	for s, share := range w.shares {
		if s.PerNode {
			b.touchGroup(s.lanes[p.Node], share.group)
		}
	}
}

// podsIn are the pods of a namespace by name.
func (e *Engine) podsIn(namespace string) map[string]*pod {
	if ns := e.namespaces[namespace]; ns != nil {
		return ns.pods
	}
	return nil
}

func (e *Engine) namespaceFor(name string) *namespace {
	ns := e.namespaces[name]
	if ns == nil {
		ns = &namespace{
			pods:      map[string]*pod{},
			selecting: map[*sequence]struct{}{},
			naming:    map[string]map[*sequence]struct{}{},
			sequences: map[*sequence]struct{}{},
		}
		e.namespaces[name] = ns
	}
	return ns
}

func (e *Engine) forgetIfEmpty(name string, ns *namespace) {
	if len(ns.pods) == 0 && len(ns.sequences) == 0 {
		delete(e.namespaces, name)
		delete(e.doubts, name)
	}
}

// list makes the sequence known to its namespace, with its lanes and the workloads it selects, but no pods yet. A namespace
// that does not allow the sequence knows nothing of it.
func (e *Engine) list(s *sequence, b *batch) *namespace {
	e.sequences[s.Key] = s
	s.listed, s.gangsKnown, s.engine, s.listedAt = true, e.gangs, e, e.moment.Load()
	e.consents.list(s)
	if s.refused() {
		e.published.refusing.Store(s.Namespace, nil) // before any pod is published as released because of it
		s.laneAt("")
		return &namespace{}
	}
	ns := e.namespaceFor(s.Namespace)
	ns.sequences[s] = struct{}{}
	ns.matchCost += s.MatchCost()
	b.namespaces = append(b.namespaces, s.Namespace)
	if s.Selects() {
		ns.selecting[s] = struct{}{}
	}
	for name := range s.ByName {
		if ns.naming[name] == nil {
			ns.naming[name] = map[*sequence]struct{}{}
		}
		ns.naming[name][s] = struct{}{}
	}
	s.laneAt("")
	if s.PerNode {
		e.perNode[s] = struct{}{}
		for _, g := range s.groups {
			g.watchedSince = e.now.Truncate(time.Second)
		}
		if s.Eager {
			for name := range e.nodes {
				s.laneAt(name)
			}
		}
	}
	if s.Selects() {
		for w := range e.workloads.of[s.Namespace] {
			e.placeIn(w, s, false, b)
		}
	}
	return ns
}

// unlist undoes list.
func (e *Engine) unlist(s *sequence, b *batch) {
	delete(e.sequences, s.Key)
	delete(e.perNode, s)
	s.listed = false
	for _, l := range s.lanes {
		e.alarms.set(&l.alarm, time.Time{})
	}
	e.consents.unlist(s)
	if s.refused() {
		b.namespaces = append(b.namespaces, s.Namespace)
		return
	}
	for _, g := range s.groups {
		for share := range g.shares {
			delete(share.workload.shares, s)
			e.forgetDue(share.workload)
		}
	}
	if d := e.doubts[s.Namespace]; d != nil {
		maps.DeleteFunc(d.lanes, func(l *lane, _ struct{}) bool { return l.sequence == s })
	}
	ns := e.namespaces[s.Namespace]
	delete(ns.sequences, s)
	ns.matchCost -= s.MatchCost()
	b.namespaces = append(b.namespaces, s.Namespace)
	delete(ns.selecting, s)
	for name := range s.ByName {
		delete(ns.naming[name], s)
		if len(ns.naming[name]) == 0 {
			delete(ns.naming, name)
		}
	}
	e.forgetIfEmpty(s.Namespace, ns)
}
