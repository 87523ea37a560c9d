package sequence

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Config is what the operator of the cluster decides.
type Config struct {
	// SchedulerNames are the profiles of our scheduler: pods with one of these names can be held without a gate.
	SchedulerNames []string
	// GatePrefixes are the beginnings of gate names that may be lifted.
	GatePrefixes []string
}

// Engine holds what the API server last said of PodSequences and pods. It is safe for concurrent use.
//
// The lock is held for the length of one event or question and never while calling out, so that the scheduler may ask
// under its queue lock.
type Engine struct {
	config         Config
	schedulerNames sets.Set[string]

	mu         sync.RWMutex
	sequences  map[types.NamespacedName]*sequence
	namespaces map[string]*namespace

	// Pods that were told to wait on a version of them that no event has brought yet. Guarded by its own lock, because
	// questions are asked under the read lock.
	strangersMu sync.Mutex
	strangers   map[types.UID]struct{}
}

// namespace has the pods of one namespace and the sequences that speak of them.
type namespace struct {
	pods map[string]*pod
	// selecting are the sequences that have a group by label, naming those that name a pod.
	selecting map[*sequence]struct{}
	naming    map[string]map[*sequence]struct{}
}

// NewEngine returns an engine that has been told of nothing.
func NewEngine(config Config) *Engine {
	return &Engine{
		config:         config,
		schedulerNames: sets.New(config.SchedulerNames...),
		sequences:      map[types.NamespacedName]*sequence{},
		namespaces:     map[string]*namespace{},
		strangers:      map[types.UID]struct{}{},
	}
}

// ApplySequence tells the engine of a PodSequence that was added or changed.
func (e *Engine) ApplySequence(ps *v1alpha1.PodSequence) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	changes := Changes{}
	key := types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name}
	old := e.sequences[key]
	if old != nil && old.uid == ps.UID && old.generation == ps.Generation {
		e.move(old, &changes, func() { old.raise(old.recordedPasses(ps)) })
		return changes
	}

	next := compile(ps, e.config.GatePrefixes)
	next.raise(next.recordedPasses(ps))
	if old != nil {
		next.carry(old)
	}
	e.replace(old, next, &changes)
	return changes
}

// RemoveSequence tells the engine that a PodSequence is gone.
func (e *Engine) RemoveSequence(key types.NamespacedName) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	changes := Changes{}
	if old := e.sequences[key]; old != nil {
		e.replace(old, nil, &changes)
	}
	return changes
}

// ApplyPod tells the engine of a pod that was added or changed. A version older than the one it has is ignored.
func (e *Engine) ApplyPod(object *corev1.Pod) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	changes := Changes{}
	view := viewPod(object)
	ns := e.namespaceFor(view.namespace)
	old := ns.pods[view.name]
	if old != nil && !newer(view.resourceVersion, old.resourceVersion) {
		return changes
	}

	// Another pod of the same name takes the old one's place in one step: in between, the group would look smaller.
	p := old
	if p == nil {
		p = &pod{}
		ns.pods[view.name] = p
	}
	waiting := e.wasStranger(view.uid) || (p.uid == view.uid && !p.mayGo())
	placed := p.uid != view.uid || !p.sameMembership(view)
	left := p.memberships
	ns.update(p, view, placed)

	for _, m := range p.memberships {
		e.move(m.sequence, &changes, func() { e.testify(p, m) })
	}
	if placed {
		for _, m := range left {
			e.move(m.sequence, &changes, nil) // the last member that was not ready may be the one that left
		}
	}
	if waiting || placed {
		changes.release(p, waiting)
	}
	if placed && !p.bound && !p.mayGo() {
		changes.Held = append(changes.Held, types.NamespacedName{Namespace: p.namespace, Name: p.name})
	}
	return changes
}

// RemovePod tells the engine that a pod is gone. A pod of the same name but another UID is left alone.
func (e *Engine) RemovePod(object *corev1.Pod) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	changes := Changes{}
	e.wasStranger(object.UID)
	ns := e.namespaces[object.Namespace]
	if ns == nil {
		return changes
	}
	if p := ns.pods[object.Name]; p != nil && p.uid == object.UID {
		delete(ns.pods, p.name)
		for _, m := range p.memberships {
			m.leave(p)
			e.move(m.sequence, &changes, nil) // the last member that was not ready may be the one that is gone
		}
		e.forgetIfEmpty(object.Namespace, ns)
	}
	return changes
}

// testify moves the sequence to the group of a bound pod that we can hold: it could not have been bound before.
func (e *Engine) testify(p *pod, m membership) {
	if p.bound && e.schedulerNames.Has(p.schedulerName) {
		m.sequence.raise(m.group)
	}
}

// move lets the sequence go forward, after an optional step, and reports the members of every group that this opens.
func (e *Engine) move(s *sequence, changes *Changes, step func()) {
	before := s.current
	if step != nil {
		step()
	}
	s.advance()
	changes.touch(s.key)
	if s.current > before {
		changes.Advanced = append(changes.Advanced, s.key)
	}
	for i := before + 1; i <= s.current && i < len(s.groups); i++ {
		for member := range s.groups[i].members {
			changes.release(member, true)
		}
	}
}

// replace puts next in the place of old; either may be nil.
func (e *Engine) replace(old, next *sequence, changes *Changes) {
	waiting := map[*pod]struct{}{}
	if old != nil {
		changes.touch(old.key)
		for i, g := range old.groups {
			for p := range g.members {
				if i > old.current {
					waiting[p] = struct{}{}
				}
				p.drop(old)
			}
		}
		e.unlist(old)
	}
	if next != nil {
		changes.touch(next.key)
		changes.Advanced = append(changes.Advanced, next.key)
		ns := e.list(next)
		for _, p := range ns.pods {
			e.enrol(p, next)
		}
		next.advance()
		for _, g := range next.groups[:min(next.current+1, len(next.groups))] {
			for p := range g.members {
				if _, did := waiting[p]; !did {
					changes.release(p, false)
				}
			}
		}
	}
	for p := range waiting {
		changes.release(p, true)
	}
}

// enrol makes the pod a member of the sequence, if it is one.
func (e *Engine) enrol(p *pod, s *sequence) {
	m, ok := s.place(p)
	if !ok {
		return
	}
	p.memberships = append(p.memberships, m)
	m.join(p)
	e.testify(p, m)
}
