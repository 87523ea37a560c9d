package ordercheck

// Completion is final: a group that must complete, and was passed because it had, stays satisfied when what completed is deleted. By
// Continuous a member that has not completed opens it again.

// finish takes in, of a group that must complete, that it was complete before.
func (v *version) finish(g int, w *world, now outcome) outcome {
	if !v.groups[g].complete() || v.cluster == nil || now.satisfied {
		return now
	}
	p := &v.cluster.groups[g]
	if v.hasUnfinished(g, w) {
		p.completed = false
	} else if p.completed {
		now.satisfied, now.since = true, p.since
	}
	return now
}

// hasUnfinished reports whether a group has anything that has not completed.
func (v *version) hasUnfinished(g int, w *world) bool {
	group := v.groups[g]
	for _, name := range group.names {
		if p := w.get(group.home.names[0], name); p != nil && !p.terminating && !p.has(group.reached) && !isOurs(p.Namespace, p.labels) {
			return true
		}
	}
	if group.selector == nil {
		return false
	}
	demands, _, observed := v.demands(g, w)
	if gone, _ := v.lostIn(g, w); len(gone) > 0 || !observed {
		return true
	}
	for _, s := range demands {
		if s.short(group) {
			return true
		}
	}
	for name := range v.members[g].readiness {
		ns := w.in(name.Namespace)
		p := ns.pods[name.Name]
		owner := ns.ownerOf(p.podFacts)
		isOwned := owner.workload != nil && v.homeOf(owner.workload) == g
		isReplaced := owner.controlled && p.failed && !p.static
		if !isOwned && !isReplaced && !p.has(group.reached) {
			return true
		}
	}
	return false
}

// noteCompleted remembers which groups were complete when they were passed.
func (d *domain) noteCompleted() {
	for g := range d.groups {
		if p := &d.groups[g]; p.passed && p.satisfied && d.spec.groups[g].complete() && d.isOpen(g) {
			p.completed = true
		}
	}
}
