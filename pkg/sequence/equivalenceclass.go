package sequence

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"example.com/podsequence/pkg/sequence/inventory"
)

// requirement is what pods ask of a node, and the nodes that meet it. Pods that ask for the same demand one, so that what a
// held pod costs does not grow with the number of nodes.
type requirement struct {
	affinity    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
	suitable    bitSet // the slots of the nodes that meet it
	classes     map[*equivalenceClass]struct{}
}

// equivalenceClass has the unbound pods that may use exactly the same nodes: they ask the same of a node and have the same places in
// sequences of node scope.
type equivalenceClass struct {
	key, requirementKey string
	requirement         *requirement
	needs               []membership
	pods                map[*pod]struct{}

	// states has what each node is to the pods, by its slot: whoever makes many pods that all tolerate something else pays a
	// byte for each of them and each node. suitable, open and coming count the nodes.
	states                 []nodeState
	suitable, open, coming int

	touched bool // in this transaction
	wasHeld bool // before this transaction
	opened  bool // a node opened in this transaction
}

// nodeState says what a node is to the pods of an equivalence class.
type nodeState = byte

const (
	nodeUnsuitable nodeState = iota
	nodeClosed               // an earlier group is not passed there, and nothing is on the way
	nodeComing               // an earlier group is not passed there, but is on the way
	nodeOpen                 // the pods may be scheduled there
)

// state says what the domain's node is to pods of the group.
func (d *domain) state(group int) nodeState {
	return d.standing().state(group)
}

func (t publishedDomain) state(group int) nodeState {
	switch {
	case !t.known:
		return nodeClosed
	case t.released.Has(group):
		return nodeOpen
	case group <= t.current, t.coming < group: // suspended, or something is on the way
		return nodeComing
	}
	return nodeClosed
}

func (c *equivalenceClass) stateOn(name string) nodeState {
	state := nodeOpen
	for _, m := range c.needs {
		state = min(state, m.sequence.stateOn(name, m.group))
	}
	return state
}

// held reports whether the pods must wait: there is no node for them, but there will be. If there is none and none is on
// the way, holding them would hide them from whoever adds nodes.
func (c *equivalenceClass) held() bool { return c.open == 0 && c.coming > 0 }

// waitsFor reports whether the pods wait for this sequence, and not only for another one.
func (c *equivalenceClass) waitsFor(m membership) bool {
	slot := bytes.IndexByte(c.states, nodeComing) // one will do: the answer is for people
	return slot >= 0 && m.sequence.stateOn(m.sequence.engine.slots[slot].Name, m.group) != nodeOpen
}

// stateAt is what the node with this slot is to the equivalence class.
func (c *equivalenceClass) stateAt(slot int) nodeState {
	if slot >= len(c.states) {
		return nodeUnsuitable
	}
	return c.states[slot]
}

func (c *equivalenceClass) set(slot int, state nodeState) {
	if more := slot + 1 - len(c.states); more > 0 {
		c.states = append(c.states, make([]nodeState, more)...)
	}
	c.enter(c.states[slot], -1)
	c.states[slot] = state
	c.enter(state, +1)
}

func (c *equivalenceClass) enter(state nodeState, sign int) {
	switch state {
	case nodeUnsuitable:
		return
	case nodeOpen:
		c.open += sign
	case nodeComing:
		c.coming += sign
	}
	c.suitable += sign
}

// refresh works out anew what the node is to the equivalence class.
func (c *equivalenceClass) refresh(n *node, tx *transaction) {
	if n == nil || c.stateAt(n.slot) == nodeUnsuitable {
		return
	}
	if now := c.stateOn(n.Name); now != c.states[n.slot] {
		tx.touchClass(c)
		c.opened = c.opened || now == nodeOpen
		c.set(n.slot, now)
	}
}

// requirements are all requirements of unbound pods, and equivalence classes all equivalence classes, by what makes them the same.
type requirements struct {
	byKey   map[string]*requirement
	classes map[string]*equivalenceClass
}

func (r *requirements) all() iter.Seq[*requirement] { return maps.Values(r.byKey) }

// needs are the pod's places that keep it from some nodes.
func (e *Engine) needs(p *pod) []membership {
	if p.Wants == nil || p.Terminating || !e.schedulerNames.Has(p.SchedulerName) {
		return nil
	}
	var needs []membership
	for _, m := range p.memberships {
		if m.sequence.PerNode && (m.group > 0 || m.sequence.Suspended) {
			needs = append(needs, m)
		}
	}
	return needs
}

// classFor finds the equivalence class of pods with these wants and needs, or makes it. It only reads what the engine has: an equivalence class
// that is new must be listed.
func (e *Engine) classFor(wants *inventory.NodeRequirement, needs []membership) *equivalenceClass {
	slices.SortFunc(needs, func(a, b membership) int {
		return strings.Compare(a.sequence.Key.String(), b.sequence.Key.String())
	})
	requirementKey := wants.Key()
	key := strings.Builder{}
	key.WriteString(requirementKey)
	for _, m := range needs {
		fmt.Fprintf(&key, "|%p %d", m.sequence, m.group)
	}
	if c := e.requirements.classes[key.String()]; c != nil {
		return c
	}
	c := &equivalenceClass{
		key: key.String(), requirementKey: requirementKey, needs: needs,
		requirement: e.requirements.byKey[requirementKey],
		pods:        map[*pod]struct{}{}, states: make([]nodeState, len(e.slots)),
	}
	if c.requirement == nil {
		c.requirement = newRequirement(wants)
		for _, n := range e.nodes {
			if c.requirement.suits(n) {
				c.requirement.suitable.add(n.slot)
			}
		}
	}
	for _, n := range e.nodes {
		if c.requirement.suitable.has(n.slot) {
			c.set(n.slot, c.stateOn(n.Name))
		}
	}
	return c
}

// newRequirement returns what pods ask of a node, with no node that meets it yet.
func newRequirement(w *inventory.NodeRequirement) *requirement {
	return &requirement{
		affinity: nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{
			Spec: corev1.PodSpec{NodeSelector: w.NodeSelector, Affinity: w.Affinity},
		}),
		tolerations: w.Tolerations, classes: map[*equivalenceClass]struct{}{},
	}
}

// suits reports whether pods with this requirement may run on the node, as far as its labels, its taints and its being
// cordoned say. A node that such a pod cannot use need not be waited for.
func (r *requirement) suits(n *node) bool {
	if fits, err := r.affinity.Match(n.Object); err != nil || !fits {
		return false
	}
	taints := n.Object.Spec.Taints
	if n.Object.Spec.Unschedulable {
		taints = append(slices.Clip(taints), corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	_, untolerated := v1helper.FindMatchingUntoleratedTaint(logr.Discard(), taints, r.tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, true)
	return !untolerated
}

// matchNode sees whether a node that is new or has changed suits the requirement.
func (e *Engine) matchNode(r *requirement, n *node, tx *transaction) {
	before := r.suitable.has(n.slot)
	switch after := r.suits(n); {
	case after && !before:
		r.suitable.add(n.slot)
		for c := range r.classes {
			tx.touchClass(c)
			c.set(n.slot, nodeClosed)
			tx.refresh = append(tx.refresh, classNode{c, n})
		}
	case before && !after:
		e.unmatchNode(r, n, tx)
	}
}

func (e *Engine) unmatchNode(r *requirement, n *node, tx *transaction) {
	r.suitable.remove(n.slot)
	for c := range r.classes {
		if c.stateAt(n.slot) != nodeUnsuitable {
			tx.touchClass(c)
			c.set(n.slot, nodeUnsuitable)
		}
	}
}

// classify gives an unbound pod its equivalence class or its pin. prepared may be the equivalence class, made without the lock.
func (e *Engine) classify(p *pod, prepared *equivalenceClass) {
	e.declassify(p)
	needs := e.needs(p)
	if len(needs) == 0 {
		return
	}
	if p.pin = p.Wants.Pin(); p.pin != nil {
		insert(e.pinned, *p.pin, p)
		return
	}
	c := prepared
	if c == nil {
		c = e.classFor(p.Wants, needs)
	}
	if len(c.pods) == 0 {
		e.listClass(c)
	}
	p.class = c
	c.pods[p] = struct{}{}
}

func (e *Engine) declassify(p *pod) {
	if p.pin != nil {
		remove(e.pinned, *p.pin, p)
		p.pin = nil
	}
	c := p.class
	if c == nil {
		return
	}
	p.class = nil
	if delete(c.pods, p); len(c.pods) > 0 {
		return
	}
	delete(e.requirements.classes, c.key)
	if delete(c.requirement.classes, c); len(c.requirement.classes) == 0 {
		delete(e.requirements.byKey, c.requirementKey)
	}
	for _, m := range c.needs {
		delete(m.sequence.classes, c)
	}
}

func (e *Engine) listClass(c *equivalenceClass) {
	e.requirements.classes[c.key] = c
	e.requirements.byKey[c.requirementKey] = c.requirement
	c.requirement.classes[c] = struct{}{}
	for _, m := range c.needs {
		m.sequence.classes[c] = struct{}{}
	}
}

// nodesOf are the names of the nodes that a pin means: usually one.
func (e *Engine) nodesOf(p inventory.Pin) iter.Seq[string] {
	if p.Node != "" {
		return func(yield func(string) bool) { yield(p.Node) }
	}
	return maps.Keys(e.hosts[p.Host])
}

// openTo reports whether the node is open to the pod in every sequence that has it.
func (p *pod) openTo(name string) bool {
	for _, m := range p.memberships {
		if m.sequence.PerNode && (m.group > 0 || m.sequence.Suspended) && m.sequence.stateOn(name, m.group) != nodeOpen {
			return false
		}
	}
	return true
}

// isReleasedOnNodes reports whether sequences of node scope leave the pod a node to go to, or nothing to wait for.
func (e *Engine) isReleasedOnNodes(p *pod) bool {
	switch {
	case p.class != nil:
		return !p.class.held()
	case p.pin == nil:
		return true
	}
	return e.isReleasedOnPin(p)
}

// isReleasedOnPin reports whether every sequence lets a pinned pod go to its node. It is a function of its own because what it
// iterates with is allocated when it begins.
func (e *Engine) isReleasedOnPin(p *pod) bool {
	for name := range e.nodesOf(*p.pin) {
		if p.openTo(name) {
			return true
		}
	}
	return false
}
