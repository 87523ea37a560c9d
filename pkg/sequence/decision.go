package sequence

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Decision says whether a pod may go now, and if not, what it waits for. The zero value lets it go.
type Decision struct {
	// Held tells whether the pod must wait.
	Held bool
	// Sequence is the PodSequence that holds it, and Group the 0-based index of the group it waits for. When several
	// hold it, the first by namespace and name is told.
	Sequence types.NamespacedName
	Group    int

	groups          int
	title           string
	ready, expected int
}

// waitingPrefix begins every message of a held pod.
const waitingPrefix = "waiting for group "

// Message says in words what a held pod waits for.
func (d Decision) Message() string {
	if !d.Held {
		return ""
	}
	return fmt.Sprintf(waitingPrefix+"%d/%d %q of PodSequence %s: %s",
		d.Group+1, d.groups, d.title, d.Sequence, count(d.ready, d.expected))
}

// count says how far a group is.
func count(ready, expected int) string {
	if expected == 0 {
		return "no pod matches it yet"
	}
	return fmt.Sprintf("%d of %d pods ready", ready, expected)
}

// Decide answers for a pod that the caller has. The caller may have it earlier than the engine, or in a newer version:
// then its memberships are worked out from the pod itself, and if it must wait, the engine remembers to report its
// release when it comes to know it.
func (e *Engine) Decide(object *corev1.Pod) Decision {
	e.mu.RLock()
	defer e.mu.RUnlock()

	p, known := e.find(object)
	d := p.decision()
	if d.Held && !known {
		e.Remember(object.UID)
	}
	return d
}

// Lift is what may be lifted from a pod now.
type Lift struct {
	UID types.UID
	// Gates are those that the pod carries and that its sequences lift: none while any sequence holds it.
	Gates []string
	// FirstVersion is as of Engine.FirstVersion.
	FirstVersion string
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
	if p == nil || p.bound || !p.mayGo() {
		return Lift{}
	}
	return Lift{UID: p.uid, Gates: p.liftable(), FirstVersion: p.firstVersion}
}

// Remember has the engine report the release of this pod when it comes to know it: the caller has told it to wait.
func (e *Engine) Remember(uid types.UID) {
	e.strangersMu.Lock()
	defer e.strangersMu.Unlock()
	e.strangers[uid] = struct{}{}
}

// FirstVersion is the resource version at which the engine came to know the pod, or, if it does not know it yet, that of
// the object. A sequence that is newer than this has made the pod no promise yet.
func (e *Engine) FirstVersion(object *corev1.Pod) string {
	e.mu.RLock()
	defer e.mu.RUnlock()

	if ns := e.namespaces[object.Namespace]; ns != nil {
		if p := ns.pods[object.Name]; p != nil && p.uid == object.UID {
			return p.firstVersion
		}
	}
	return object.ResourceVersion
}

// find is the pod as the engine knows it, or as much of it as can be worked out from the object.
func (e *Engine) find(object *corev1.Pod) (p *pod, known bool) {
	ns := e.namespaces[object.Namespace]
	if ns == nil {
		return &pod{}, false
	}
	p = ns.pods[object.Name]
	if p != nil && !newer(object.ResourceVersion, p.resourceVersion) {
		return p, true
	}
	if len(ns.selecting) == 0 && len(ns.naming) == 0 {
		return &pod{}, false
	}
	stranger := &pod{name: object.Name, labels: object.Labels, terminating: object.DeletionTimestamp != nil}
	if p != nil && p.uid == object.UID && p.sameMembership(stranger) {
		return p, true
	}
	stranger.memberships = ns.place(stranger)
	return stranger, false
}

func (p *pod) decision() Decision {
	var holding *sequence
	for _, m := range p.memberships {
		if m.group > m.sequence.current && (holding == nil || less(m.sequence.key, holding.key)) {
			holding = m.sequence
		}
	}
	if holding == nil {
		return Decision{}
	}
	g := holding.groups[holding.current]
	return Decision{
		Held: true, Sequence: holding.key, Group: holding.current,
		groups: len(holding.groups), title: g.title, ready: g.ready, expected: g.expected(),
	}
}

func less(a, b types.NamespacedName) bool {
	if a.Namespace != b.Namespace {
		return a.Namespace < b.Namespace
	}
	return a.Name < b.Name
}

// wasStranger tells whether the pod was told to wait before the engine knew it, and forgets that.
func (e *Engine) wasStranger(uid types.UID) bool {
	e.strangersMu.Lock()
	defer e.strangersMu.Unlock()
	_, was := e.strangers[uid]
	delete(e.strangers, uid)
	return was
}
