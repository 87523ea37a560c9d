package sequence

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// batch is one step of the engine: objects are entered one by one, and only then is it seen what that changes.
type batch struct {
	// touched are the sequences whose sums or memberships changed.
	touched []*sequence
	// placed are the pods whose memberships changed, or that asked too early.
	placed []placedPod
	// edited are sequences whose waiting pods may wait for something else though no group was passed.
	edited []types.NamespacedName
}

// placedPod is a pod whose right to go is looked at once more when the batch is settled.
type placedPod struct {
	*pod
	waited bool // it could not go before
}

func (b *batch) touch(s *sequence) {
	if !slices.Contains(b.touched, s) {
		b.touched = append(b.touched, s)
	}
}

// settle lets sequences go forward and reports what the batch changed.
func (e *Engine) settle(b *batch) Changes {
	changes := Changes{}
	for _, key := range b.edited {
		changes.touch(key)
		changes.Advanced = append(changes.Advanced, key)
	}
	for _, s := range b.touched {
		if e.sequences[s.key] != s {
			continue // replaced within this batch
		}
		s.advance()
		changes.touch(s.key)
		if s.current > s.opened {
			changes.Advanced = append(changes.Advanced, s.key)
		}
	}
	// Only now that every sequence stands where it will stand: a pod may need the leave of several.
	for _, s := range b.touched {
		for ; s.opened < s.current; s.opened++ {
			if next := s.opened + 1; next < len(s.groups) {
				for member := range s.groups[next].members {
					changes.release(member, true)
				}
			}
		}
	}
	for _, p := range b.placed {
		changes.release(p.pod, p.waited)
		changes.hold(p.pod)
	}
	return changes
}

func (e *Engine) applyPod(object *corev1.Pod, b *batch) {
	view := viewPod(object)
	ns := e.namespaceFor(view.namespace)
	p := ns.pods[view.name]
	if p != nil && !newer(view.resourceVersion, p.resourceVersion) {
		return
	}

	// Another pod of the same name takes the old one's place in one step: in between, the group would look smaller.
	if p == nil {
		p = &pod{}
		ns.pods[view.name] = p
	}
	waited := e.wasStranger(view.uid) || (p.uid == view.uid && !p.mayGo())
	replace := p.uid != view.uid || !p.sameMembership(view)
	for _, m := range p.memberships {
		b.touch(m.sequence)
	}
	ns.update(p, view, replace)
	for _, m := range p.memberships {
		e.testify(p, m)
		b.touch(m.sequence)
	}
	if replace || waited {
		b.placed = append(b.placed, placedPod{p, waited})
	}
}

func (e *Engine) removePod(namespace, name string, uid types.UID, b *batch) {
	e.wasStranger(uid)
	ns := e.namespaces[namespace]
	if ns == nil {
		return
	}
	p := ns.pods[name]
	if p == nil || p.uid != uid {
		return
	}
	delete(ns.pods, name)
	for _, m := range p.memberships {
		m.leave(p)
		b.touch(m.sequence)
	}
	e.forgetIfEmpty(namespace, ns)
}

// testify moves the sequence to the group of a bound pod that we can hold: it could not have been bound before.
func (e *Engine) testify(p *pod, m membership) {
	if p.bound && e.schedulerNames.Has(p.schedulerName) {
		m.sequence.raise(m.group)
	}
}

func (e *Engine) applySequence(stored Stored, b *batch) {
	ps := stored.PodSequence
	key := types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name}
	old := e.sequences[key]
	if old != nil && old.uid == ps.UID && old.generation == ps.Generation {
		old.object = ps
		old.raise(old.recordedPasses(ps))
		b.touch(old)
		return
	}
	next := compile(stored, e.config.GatePrefixes)
	next.raise(next.recordedPasses(ps))
	if old != nil {
		next.carry(old)
	}
	e.swap(old, next, b)
}

// swap puts next in the place of old; either may be nil.
func (e *Engine) swap(old, next *sequence, b *batch) {
	waited := map[*pod]struct{}{}
	if old != nil {
		b.edited = append(b.edited, old.key)
		for i, g := range old.groups {
			for p := range g.members {
				if i > old.current {
					waited[p] = struct{}{}
					b.placed = append(b.placed, placedPod{p, true})
				}
				p.drop(old)
			}
		}
		e.unlist(old)
	}
	if next == nil {
		return
	}
	b.edited = append(b.edited, next.key)
	b.touch(next)
	for _, p := range e.list(next).pods {
		m, ok := next.place(p)
		if !ok {
			continue
		}
		p.memberships = append(p.memberships, m)
		m.join(p)
		e.testify(p, m)
		if _, did := waited[p]; !did {
			b.placed = append(b.placed, placedPod{p, false})
		}
	}
	next.advance()
	next.opened = next.current // every member is looked at as placed
}
