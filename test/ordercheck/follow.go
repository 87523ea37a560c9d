package ordercheck

import (
	"k8s.io/apimachinery/pkg/util/sets"
)

// followPod brings this version, and those before it that still count, up to date with a pod. The pod is gone if the world
// does not have it any more. was is what it was before, nil if it is new.
func (v *version) followPod(was *podFacts, w *world, e event) {
	if len(v.groupsIn(e.pod.Namespace)) > 0 {
		touched := v.touchedBy(was, w)
		if e.pod.failed && e.pod.owner.uid == "" {
			v.knew.Insert(e.pod.uid)
		}
		if ns := w.in(e.pod.Namespace); len(ns.lost) > 0 || ns.found || was != nil && was.failed {
			touched = touched.Union(v.bySelector()) // one of the lost may have a successor, or be one more
		}
		v.displace(e.pod.NamespacedName)
		current := w.get(e.pod.Namespace, e.pod.Name)
		if current != nil {
			v.place(current)
			touched = touched.Union(v.touchedBy(current.podFacts, w))
		}
		if v.perNode {
			v.followOnNodes(was, current, w, e)
		} else {
			v.reweigh(touched, w, e, v.podNews(was, w, e))
		}
	}
	if before := v.stillBefore(e); before != nil {
		before.followPod(was, w, e)
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

// touchedBy are the groups whose standing a pod may change: the one it is in, those that name it, and the one that counts
// it with its workload.
func (v *version) touchedBy(p *podFacts, w *world) sets.Set[int] {
	touched := sets.New[int]()
	if p == nil {
		return touched
	}
	if group, ok := v.groupOf(p); ok {
		touched.Insert(group)
	}
	touched.Insert(v.naming[p.NamespacedName]...)
	if owner := w.in(p.Namespace).ownerOf(p); owner.workload != nil {
		if home := v.homeOf(owner.workload); home >= 0 {
			touched.Insert(home)
		}
	}
	return touched
}

func (v *version) followOnNodes(was *podFacts, current *pod, w *world, e event) {
	touched := sets.New[string]()
	if was != nil {
		touched.Insert(was.node)
	}
	if current != nil {
		touched.Insert(current.node)
	}
	for node := range touched.Delete("") {
		v.weighAllOn(node, v.domainOn(node, nil, w, e), w, e, v.podNews(was, w, e))
	}
}

// followWorkload does the same for a workload.
func (v *version) followWorkload(was *workloadFacts, w *world, e event) {
	if f := e.workload; len(v.groupsIn(f.Namespace)) > 0 {
		if e.deleted {
			delete(v.homes, f.uid)
		} else {
			v.house(f)
		}
		if f.job != nil {
			v.followHook(f, w)
		}
		if !e.deleted {
			v.noteComplete(f)
		}
		if f.job != nil && f.job.failed && !e.deleted {
			v.knew.Insert(f.uid)
		}
		switch {
		case !v.perNode:
			v.reweigh(v.bySelector(), w, e, jobNews(was, e))
		case f.kind == "DaemonSet" && (e.deleted || was == nil || was.generation != f.generation || was.terminating != f.terminating):
			v.followAllNodes(w, e)
		}
	}
	if before := v.stillBefore(e); before != nil {
		before.followWorkload(was, w, e)
	}
}

func (v *version) bySelector() sets.Set[int] {
	groups := sets.New[int]()
	for g, group := range v.groups {
		if group.selector != nil {
			groups.Insert(g)
		}
	}
	return groups
}

func (v *version) followAllNodes(w *world, e event) {
	for node, d := range v.nodes {
		v.weighAllOn(node, d, w, e, noNews)
	}
}

// followNode does the same for a node. was is what it was before, nil if it is new; turned are the pods on it of which that changes whether
// they count.
func (v *version) followNode(was *nodeFacts, turned []*pod, w *world, e event) {
	v.followTurned(turned, w, e)
	if v.perNode {
		node := e.node.node.Name
		if was == nil || was.node.UID != e.node.node.UID {
			v.beginAnew(node)
		}
		v.weighAllOn(node, v.domainOn(node, nil, w, e), w, e, v.conditionNews(node, w))
	} else {
		v.reweigh(v.withIdleDaemonSets(w), w, e, noNews)
	}
	if before := v.stillBefore(e); before != nil {
		before.followNode(was, turned, w, e)
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

// reweigh looks at groups again. Groups that were passed permanently need no look, unless an edit may ask since when they are
// satisfied.
func (v *version) reweigh(touched sets.Set[int], w *world, e event, says newsFor) {
	d := v.cluster
	d.settle(e.arrived)
	for _, g := range sets.List(touched) {
		if d.groups[g].passed && !v.continuous && !v.timed {
			continue
		}
		d.update(g, v.weigh(g, w), e, says(g))
	}
	v.settle(d, e)
}
