package sequence

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
)

// Decision says whether a pod may go now, and if not, what it waits for. The zero value lets it go.
type Decision struct {
	// Held tells whether the pod must wait.
	Held bool
	// Sequence is the PodSequence that holds it, and Group the 0-based index of the group it waits for. When several
	// hold it, the first by namespace and name is told.
	Sequence types.NamespacedName
	Group    int

	reason heldReason
	groups int
	title  string
	need   readiness.Need
	until  time.Time
	node   string
	// of the nodes that suit a free pod, how many there are and how many are on the way
	suitable, coming int
}

// heldReason says why a pod is held.
type heldReason uint8

const (
	heldByGroup heldReason = iota
	heldByWait
	heldByTimeout
	heldBySuspension
	heldByNodes       // no suitable node is open
	heldByUnknownNode // the node it asks for does not exist
	heldUnknown       // the engine has yet to learn of the pod
	heldUnconfirmed   // the group looks ready, but a change that says otherwise may not be known yet
	heldEarly         // a change from before the pod may not be known yet
	heldUnsupported
)

// waitingPrefix begins every message of a held pod.
const waitingPrefix = "waiting for "

// Confirming reports whether the pod waits only until it is known whether a change is missing.
func (d Decision) Confirming() bool {
	return d.Held && (d.reason == heldUnconfirmed || d.reason == heldEarly)
}

// Message says in words what a held pod waits for.
func (d Decision) Message() string {
	if !d.Held {
		return ""
	}
	on := ""
	if d.node != "" {
		on = " on node " + d.node
	}
	group := fmt.Sprintf("group %d/%d %q of PodSequence %s", d.Group+1, d.groups, d.title, d.Sequence)
	switch d.reason {
	case heldByWait:
		return fmt.Sprintf(waitingPrefix+"%s%s: ready, its wait is over at %s", group, on, d.until.UTC().Format(time.RFC3339))
	case heldByTimeout:
		return fmt.Sprintf(waitingPrefix+"%s%s, which was not ready in time: %s", group, on, d.need)
	case heldBySuspension:
		return fmt.Sprintf(waitingPrefix+"PodSequence %s, which is suspended", d.Sequence)
	case heldByNodes:
		return fmt.Sprintf(waitingPrefix+"a node where the groups before %s are ready: on the way on %d of %d suitable nodes", group, d.coming, d.suitable)
	case heldByUnknownNode:
		return fmt.Sprintf(waitingPrefix+"%s%s: there is no such node yet", group, on)
	case heldUnknown:
		return fmt.Sprintf(waitingPrefix+"PodSequence %s: the pod is not known yet", d.Sequence)
	case heldUnconfirmed:
		return fmt.Sprintf(waitingPrefix+"%s%s: it looks ready, making sure that no change is missing", group, on)
	case heldEarly:
		return fmt.Sprintf(waitingPrefix+"PodSequence %s: making sure that no change from before the pod is missing", d.Sequence)
	case heldUnsupported:
		return fmt.Sprintf(waitingPrefix+"another scheduler: PodSequence %s has scope Node, set schedulerName to that of podsequence-scheduler", d.Sequence)
	}
	return fmt.Sprintf(waitingPrefix+"%s%s: %s", group, on, d.need)
}

// FilterMessage is the Message for one of many nodes: it is the same for all nodes that lack the same.
func (d Decision) FilterMessage() string {
	if d.reason == heldBySuspension || d.reason == heldEarly {
		return d.Message()
	}
	return fmt.Sprintf("node(s) not ready for the pod: group %d/%d %q of PodSequence %s", d.Group+1, d.groups, d.title, d.Sequence)
}

// Decide answers for a pod that the caller has. The caller may have it earlier than the engine, or in a newer version:
// then its memberships are worked out from the pod itself, and if it must wait, the engine remembers to report its
// release when it comes to know it.
func (e *Engine) Decide(object *corev1.Pod) Decision {
	e.mu.RLock()
	defer e.mu.RUnlock()

	p, known := e.find(object)
	d := e.decision(p)
	if d.Held && !known {
		e.Remember(object)
	}
	return d
}

// Lift is what may be lifted from a pod now.
type Lift struct {
	UID types.UID
	// Gates are those that the pod carries and that its sequences lift: none while any sequence holds it.
	Gates []string
	// Proof is what is to be left on the pod, see Verdict.Proof.
	Proof string
	// FirstSeen is as of Engine.FirstSeen.
	FirstSeen Sighting
}

// Lift says which gates of this pod, as the engine knows it, may be lifted now.
func (e *Engine) Lift(key types.NamespacedName) Lift {
	e.mu.RLock()
	defer e.mu.RUnlock()

	ns := e.namespaces[key.Namespace]
	if ns == nil {
		return Lift{}
	}
	p := ns.pods[key.Name]
	if p == nil || p.Bound() || !e.mayGo(p) {
		return Lift{}
	}
	return Lift{UID: p.UID, Gates: p.liftable(), Proof: proof(p.UID, p.memberships), FirstSeen: e.sighting(p.Namespace, p.firstSeen)}
}

// Sighting is when a pod was first seen. A PodSequence that was made later has made the pod no promise yet.
type Sighting struct {
	// Version is the pod's resource version then.
	Version string
	// Moment is the engine's moment then, see Engine.Moment; 0 if the engine does not know the pod yet.
	Moment uint64
	// Refused reports that some PodSequence points to the pod's namespace without its consent, as far as the engine knows:
	// if the namespace had given that when the pod was first seen, the sequence would hold the pod.
	Refused bool
}

// find is the pod as the engine knows it, or as much of it as can be worked out from the object.
func (e *Engine) find(object *corev1.Pod) (p *pod, known bool) {
	ns := e.namespaces[object.Namespace]
	if ns == nil {
		return &pod{}, false
	}
	p = ns.pods[object.Name]
	if p != nil && !inventory.Newer(object.ResourceVersion, p.ResourceVersion) {
		return p, true
	}
	if len(ns.selecting) == 0 && len(ns.naming) == 0 {
		return &pod{}, false
	}
	unseen := viewPod(object)
	if p != nil && p.UID == object.UID && p.SameMembership(&unseen.Pod) {
		return p, true
	}
	unseen.memberships = ns.place(unseen)
	return unseen, false
}

// mayGo tells whether the pod may go for sure.
func (e *Engine) mayGo(p *pod) bool { return e.isFree(p) && !e.isEarly(p) }

// isFree tells whether every sequence that has the pod lets it go.
func (e *Engine) isFree(p *pod) bool {
	for _, m := range p.memberships {
		if m.sequence.PerNode {
			if e.unsupported(p, m) {
				return false
			}
		} else if !m.sequence.lanes[""].mayGo(m.group) {
			return false
		}
	}
	return e.nodeFree(p)
}

// unsupported tells whether the pod is one that nobody can place as a sequence of node scope wants it: it carries the
// gate, but its scheduler is not ours.
func (e *Engine) unsupported(p *pod, m membership) bool {
	return m.sequence.PerNode && p.HasGate(m.sequence.Gate) &&
		(e.config.ClusterScopeOnly || !e.schedulerNames.Has(p.SchedulerName))
}

// decision says what holds the pod. A pod that the engine does not know has no class: it has to wait until it does, for
// to work out which nodes suit it may take long.
func (e *Engine) decision(p *pod) Decision {
	var holding *membership
	for i := range p.memberships {
		m := &p.memberships[i]
		if e.holds(p, *m) && (holding == nil || less(m.sequence.Key, holding.sequence.Key)) {
			holding = m
		}
	}
	if holding == nil && !e.isFree(p) {
		// No sequence by itself, but on every node some sequence.
		i := slices.IndexFunc(p.memberships, func(m membership) bool { return m.sequence.PerNode })
		holding = &p.memberships[i]
	}
	early := false
	if holding == nil {
		if holding, early = e.earlyIn(p); !early {
			return Decision{}
		}
	}
	s := holding.sequence
	d := Decision{Held: true, Sequence: s.Key, groups: len(s.groups), Group: holding.group, title: s.groups[holding.group].Title}
	if early {
		d.reason, d.Group = heldEarly, holding.group-1
		return d
	}
	if !s.PerNode {
		d.describe(s.lanes[""], e.now)
		return d
	}
	switch {
	case e.unsupported(p, *holding):
		d.reason = heldUnsupported
	case p.pin != nil:
		n := e.nodeOfPin(*p.pin)
		if d.node = p.pin.Node + p.pin.Host; n == nil {
			d.reason = heldByUnknownNode
			break
		}
		d.node = n.Name
		d.describeOn(n, s, e.now)
	case p.class != nil:
		d.reason, d.suitable, d.coming = heldByNodes, p.class.suitable, p.class.coming
		if s.Suspended {
			d.reason = heldBySuspension
		}
	default:
		d.reason = heldUnknown
	}
	return d
}

// holds tells whether this sequence keeps the pod from going.
func (e *Engine) holds(p *pod, m membership) bool {
	if !m.sequence.PerNode {
		return !m.sequence.lanes[""].mayGo(m.group)
	}
	switch {
	case e.unsupported(p, m):
		return true
	case m.group == 0 && !m.sequence.Suspended:
		return false
	case p.class != nil:
		return p.class.held() && p.class.waitsFor(m)
	case p.pin != nil:
		return !e.nodeFree(p) && !e.openOnPin(*p.pin, m)
	}
	return p.memberships != nil && p.Wants != nil && !p.Terminating && e.schedulerNames.Has(p.SchedulerName)
}

// describe says what the lane waits for.
func (d *Decision) describe(l *lane, now time.Time) {
	s := l.sequence
	if d.Group <= l.current {
		d.reason = heldBySuspension
		return
	}
	d.Group, d.title = l.current, s.groups[l.current].Title
	d.need = l.need(l.current)
	switch {
	case l.doubted && l.looksSatisfied(l.current) && !l.isSure(l.current):
		d.reason = heldUnconfirmed
	case l.looksSatisfied(l.current):
		d.reason, d.until = heldByWait, l.waitOver(l.current)
	case l.timedOut(l.current, now):
		d.reason = heldByTimeout
	}
}

// openOnPin reports whether the sequence lets the pod go to some node that the pin means.
func (e *Engine) openOnPin(p inventory.Pin, m membership) bool {
	for name := range e.nodesOf(p) {
		if m.sequence.stateOn(name, m.group) == nodeOpen {
			return true
		}
	}
	return false
}

// nodeOfPin is a node that the pin means; nil if there is none.
func (e *Engine) nodeOfPin(p inventory.Pin) *node {
	for name := range e.nodesOf(p) {
		if n := e.nodes[name]; n != nil {
			return n
		}
	}
	return nil
}

func less(a, b types.NamespacedName) bool {
	if a.Namespace != b.Namespace {
		return a.Namespace < b.Namespace
	}
	return a.Name < b.Name
}
