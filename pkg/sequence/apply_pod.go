package sequence

import (
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
)

// prepareClass finds or makes the equivalence class of an unbound pod before the lock is taken: what its requirement is to each node
// may take a while to work out.
func (e *Engine) prepareClass(view *pod) *equivalenceClass {
	ns := e.namespaces[view.Namespace]
	if ns == nil || len(e.perNode) == 0 || view.Wants() == nil || view.Terminating {
		return nil
	}
	if p := ns.pods[view.Name]; p != nil && !inventory.Newer(view.ResourceVersion, p.ResourceVersion) {
		return nil
	}
	view.memberships = ns.place(view)
	needs := e.needs(view)
	view.memberships = nil
	if len(needs) == 0 || view.Wants().Pin() != nil {
		return nil
	}
	return e.classFor(view.Wants(), needs)
}

func (e *Engine) applyPod(view *pod, prepared *equivalenceClass, tx *transaction) {
	ns := e.namespaceFor(view.Namespace)
	p := ns.pods[view.Name]
	if p != nil && !inventory.Newer(view.ResourceVersion, p.ResourceVersion) {
		return
	}
	if p != nil && !tx.relisted && p.CountsAs(&view.Pod) {
		p.ResourceVersion = view.ResourceVersion
		tx.entered = append(tx.entered, p)
		return
	}

	// Another pod of the same name takes the old one's place in one step: in between, the group would look smaller.
	if p == nil {
		p = newPod()
		ns.pods[view.Name] = p
	}
	isNew := p.UID != view.UID
	replace := isNew || !p.SameMembership(&view.Pod)
	e.touchPod(p, tx)
	e.update(ns, p, view, replace, prepared, tx)
	e.recordProofs(p, tx)
	e.touchPod(p, tx)
	tx.entered = append(tx.entered, p)
	if isNew {
		tx.sighted = append(tx.sighted, sighted{p, nil})
	}
}

func (e *Engine) touchPod(p *pod, tx *transaction) {
	for _, m := range p.memberships {
		tx.touch(m.sequence.domainOf(p))
	}
}

func (e *Engine) removePod(namespace, name string, uid types.UID, tx *transaction) {
	e.unseen.take(uid, tx.Version)
	ns := e.namespaces[namespace]
	if ns == nil {
		return
	}
	p := ns.pods[name]
	if p == nil || p.UID != uid {
		return
	}
	delete(ns.pods, name)
	e.unpublish(p)
	e.forgetAskedPod(p)
	e.endDryRuns(p, p.memberships, true)
	e.touchPod(p, tx)
	e.withdraw(p, tx)
	e.declassify(p)
	p.memberships = nil
	e.forgetIfEmpty(namespace, ns)
}

// recordProofs draws the conclusions from the proof on a pod: the groups before its own had been passed.
func (e *Engine) recordProofs(p *pod, tx *transaction) {
	for _, m := range p.memberships {
		s := m.sequence
		group, passed, ok := p.provenGroup(s)
		if !ok {
			continue
		}
		s.domainOf(p).recordProof(group, passed)
		s.noteFirstReleased(tx)
	}
}
