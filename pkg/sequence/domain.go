package sequence

import (
	"slices"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// isOpen reports whether a node is open to pods of the group.
func (s *sequence) isOpen(name string, group int) bool {
	d := s.domains[name]
	return d != nil && d.standing().isOpen(group)
}

// releasedAtFirst returns the groups that had been released as soon as there was the sequence, so that a suspension does not hold them.
func (s *sequence) releasedAtFirst() spec.GroupSet {
	if s.firstReleased {
		return spec.Before(1)
	}
	return 0
}

// noteFirstReleased notes that status has come to say that the first group had been released.
func (s *sequence) noteFirstReleased(tx *transaction) {
	if s.Suspended {
		for _, d := range s.domains {
			tx.markDirty(d)
		}
	}
	s.firstReleased = true
}

// domainAt is the domain of a node, or of what is not bound or of scope Cluster. It is made if there is none yet.
func (s *sequence) domainAt(name string) *domain {
	if d := s.domains[name]; d != nil {
		return d
	}
	d := &domain{sequence: s, name: name, node: s.knowledge.nodes.byName[name]}
	d.alarm.Owner = d
	for i, g := range s.groups {
		if !s.PerNode || (g.OnEveryNode && d.isNode()) {
			d.groupState(i)
		}
	}
	s.domainsMu.Lock()
	defer s.domainsMu.Unlock()
	if s.domains[name] = d; !d.isNode() {
		s.nodeless = d
	}
	return d
}

// restoreFromRecord creates the state of the current group if it needs no pods, so that it takes from the record since when the group is
// satisfied. It does so only before the domain is first evaluated.
func (d *domain) restoreFromRecord(record *v1alpha1.NodeStatus) {
	for i, g := range d.sequence.groups {
		if g.NeedsNoPods && !d.evaluated && d.sequence.recordIndex(i) == int(record.CurrentIndex) {
			d.groupState(i)
		}
	}
}

// isGone reports whether the domain is of a node that is not known, and has nothing of the sequence.
func (d *domain) isGone() bool {
	return d.isNode() && d.node == nil && !slices.ContainsFunc(d.groupStates, func(state *groupState) bool { return len(state.members) > 0 })
}

// domainOf is the domain in which the pod counts.
func (s *sequence) domainOf(p *pod) *domain {
	if s.PerNode && p.Bound() {
		return s.domainAt(p.Node)
	}
	return s.nodeless
}

// isNode reports whether the domain is that of a node.
func (d *domain) isNode() bool { return d.name != "" }

// applies reports whether the group is for this domain.
func (d *domain) applies(g *group) bool { return d.node == nil || g.AppliesTo(d.node.Object.Labels) }

// find returns the sums of a group; nil if nothing of it is or was here.
func (d *domain) find(group int) *groupState {
	i, found := d.search(group)
	if !found {
		return nil
	}
	return d.groupStates[i]
}

func (d *domain) search(group int) (int, bool) {
	if group < len(d.groupStates) && d.groupStates[group].group == group {
		return group, true // as everywhere in the cluster
	}
	return slices.BinarySearchFunc(d.groupStates, group, func(state *groupState, group int) int { return state.group - group })
}

// peek returns the sums of a group, only for reading.
func (d *domain) peek(group int) *groupState {
	if state := d.find(group); state != nil {
		return state
	}
	return emptyGroupState
}

// nodeCreatedAt is when the domain's node was created; zero in the cluster, and while the node is not known.
func (d *domain) nodeCreatedAt() time.Time {
	if d.node == nil {
		return time.Time{}
	}
	return d.node.Object.CreationTimestamp.Time
}

// needsNothing reports whether the group is satisfied here whatever there is of it.
func (d *domain) needsNothing(group int) bool {
	return d.node != nil && d.sequence.groups[group].NeedsNoPods
}

// looksSatisfied reports whether the group is satisfied as far as is known, and since is since when it is.
func (d *domain) looksSatisfied(group int) bool {
	if state := d.find(group); state != nil {
		return state.satisfied
	}
	return d.needsNothing(group)
}

func (d *domain) since(group int) time.Time {
	switch state := d.find(group); {
	case state != nil:
		return state.since
	case d.needsNothing(group):
		return d.watchedSince(group)
	}
	return time.Time{}
}

// watchedSince is since when the engine watches the group here, defined as it is.
func (d *domain) watchedSince(group int) time.Time {
	since := d.sequence.groups[group].watchedSince
	if d.node != nil {
		since = latest(since, d.node.seenAt)
	}
	return since
}

// standing is how far the domain is now.
func (d *domain) standing() standing {
	return standing{passed: d.Passed, released: d.Released, known: d.node != nil}
}

// current is the first group that is waited for and not passed; len(groups) when none is.
func (d *domain) current() int {
	return min((d.Passed | d.sequence.Skipped).FirstMissing(), len(d.sequence.groups))
}

// waitOver is when the wait of a satisfied group is over.
func (d *domain) waitOver(i int) time.Time {
	return progress.WaitOver(d.sequence.Groups[i], d.since(i))
}

// where names a group of the domain in messages.
func (d *domain) where(i int) report.Where {
	return report.Where{Index: i, Groups: len(d.sequence.groups), Title: d.sequence.groups[i].Title, Node: d.name}
}

// Some members count as ready only when they have been Ready for a while without a break, see readiness.MinReady. Until then such a
// member is on trial in its group, and the sums do not count it as ready. An alarm ends the trial: nothing else happens then.

// onTrial reports whether a member is Ready and does not count as ready yet.
func (s *groupState) onTrial(p *pod) bool { return s.trials[p] != nil }

func (c *contribution) onTrial() bool { return c.timed && !c.ready }

// isDone reports whether a member has reached what its group requires.
func (d *domain) isDone(p *pod, group int) bool {
	return readiness.IsDone(p.Pod, d.sequence.groups[group].requirement(), d.nodeCreatedAt()) && !d.peek(group).onTrial(p)
}

// groupState returns the sums of a group, for changing them.
func (d *domain) groupState(group int) *groupState {
	i, found := d.search(group)
	if !found {
		state := &groupState{group: group}
		if d.evaluated && d.needsNothing(group) {
			state.satisfied, state.since = true, d.since(group)
		}
		d.groupStates = slices.Insert(d.groupStates, i, state)
	}
	state := d.groupStates[i]
	state.dirty = true
	return state
}

// markGroupDirty marks the group for re-evaluation.
func (tx *transaction) markGroupDirty(d *domain, group int) {
	if d != nil {
		d.groupState(group)
		tx.markDirty(d)
	}
}

// markObjects marks for re-evaluation the groups of whose objects something else is recorded than was. If they are satisfied before and
// after, the new times show whether they were not meanwhile.
func (s *sequence) markObjects(changed spec.GroupSet, tx *transaction) {
	if changed == 0 {
		return
	}
	for _, d := range s.domains {
		for i := range changed.All() {
			if state := d.find(i); state != nil {
				state.dirty, state.turned = true, latest(state.turned, s.groups[i].objects.Since())
			}
		}
		tx.markDirty(d)
	}
}
