package sequence

import (
	"time"

	"example.com/podsequence/pkg/sequence/placement"
	"example.com/podsequence/pkg/sequence/spec"
)

// domain is where the groups of a sequence are passed in order: the whole cluster, or one node.
type domain struct {
	sequence *sequence
	name     string // of the node; empty for the cluster, and for what is not bound yet
	node     *node  // nil for the cluster, and while the node is not known

	// groupStates are those of the groups that have or had something here, in order; of scope Cluster all. See find and peek.
	groupStates []*groupState
	// once are the groups that were satisfied while they were released.
	once spec.GroupSet

	// passed are the groups that those after them need not wait for any more.
	passed spec.GroupSet
	// released are the groups whose pods may be scheduled: all their predecessors are passed, and while the sequence is
	// suspended they are in releasedBefore.
	released spec.GroupSet
	// releasedBefore are the groups that had been released when the sequence was suspended.
	releasedBefore spec.GroupSet
	// proven are the groups that were passed, because some pod, or status, proves that a later one was released.
	proven spec.GroupSet
	// passes has when the groups before the current one were passed, as far as that is known.
	// Where nothing is there is only lastPass, the last of them.
	passes   []time.Time
	lastPass time.Time
	// onTheWay is the current group if it has pods, or a DaemonSet due here, and may yet be passed; otherwise the number of groups.
	onTheWay int

	// wake is when time alone will change something; zero for never. alarm is set to it.
	wake  time.Time
	alarm alarm

	// unconfirmed reports that it would go on if it was confirmed that no event is missing.
	unconfirmed bool
	asks        []Subject // what for

	evaluated bool            // it has been settled at least once
	touched   bool            // it will be settled at the end of this transaction
	published publishedDomain // when it was last settled; guarded by the sequence's lanesMu
}

// publishedDomain is how far a domain was when it was last published.
type publishedDomain struct {
	placement.Standing
	// unpublished marks the domains of a sequence that is new, or new in this form.
	unpublished bool
}

// standing is how far the domain is now.
func (d *domain) standing() placement.Standing {
	return placement.Standing{Released: d.released, OnTheWay: d.onTheWay, Current: d.current(), Known: d.node != nil}
}

// current is the first group that is not passed; len(groups) when all are.
func (d *domain) current() int { return min(d.passed.FirstMissing(), len(d.sequence.groups)) }

// publish has how far the domain is read from now on.
func (d *domain) publish() {
	d.sequence.domainsMu.Lock()
	defer d.sequence.domainsMu.Unlock()
	d.published = publishedDomain{Standing: d.standing()}
}

// domainOf is the domain in which the pod counts.
func (s *sequence) domainOf(p *pod) *domain {
	name := ""
	if s.PerNode {
		name = p.Node
	}
	return s.domainAt(name)
}

// isNode reports whether the domain is that of a node.
func (d *domain) isNode() bool { return d.name != "" }

// applies reports whether the group is for this domain.
func (d *domain) applies(g *group) bool { return d.node == nil || g.AppliesTo(d.node.Object.Labels) }

// evaluate brings what is known of each group up to the sums, which the transaction may have changed. It must come before
// advance.
func (d *domain) evaluate(e *Engine, tx *transaction) {
	question, relisted := tx.Question, tx.relisted
	if !d.evaluated {
		question = e.nowMoment()
	}
	for _, state := range d.groupStates {
		i, question := state.group, question
		if d.evaluated && !state.dirty {
			d.settleConfirmation(i, e)
			continue
		}
		facts := d.facts(i)
		need := facts.Need()
		satisfied := !d.sequence.refused() && facts.IsSatisfied(need)
		if state.changed.Moment == 0 {
			question = e.nowMoment() // until now nothing of it was looked at
		}
		state.changed = state.changed.and(question)
		if need.Ready = 0; !state.satisfied || need != state.needThen || relisted {
			state.question, state.needThen, state.confirmed = state.changed, need, false
		}
		if g := d.sequence.groups[i]; g.watchedSince.IsZero() {
			g.watchedSince = e.now.Truncate(time.Second)
		}
		state.witness.notice(tx, e)
		state.since = d.satisfiedSince(i, satisfied, e)
		state.satisfied, state.dirty, state.turned = satisfied, false, time.Time{}
		d.settleConfirmation(i, e)
	}
	d.evaluated = true
}

// isPassed reports whether the group is passed now, and when it was.
func (d *domain) isPassed(i int, now time.Time) (at time.Time, ok bool) {
	g, state := d.sequence.groups[i], d.peek(i)
	switch {
	case d.isNode() && d.node == nil:
		return time.Time{}, false // it may be gone, and it is not known which groups are for it
	case !d.applies(g):
		return d.skippedAt(i), true
	}
	if d.isConfirmed(i) {
		at = d.waitOver(i)
		ok = g.Wait == 0 || !now.Before(at)
	}
	if !ok && state.witness.confirmed {
		at, ok = state.witness.since, true
	}
	if deadline := d.deadline(i); g.ContinueOnTimeout && d.timedOut(i, now) && (!ok || deadline.Before(at)) {
		return deadline, true
	}
	return at, ok
}

// skippedAt is when a group was passed that is not for this node: at once.
func (d *domain) skippedAt(i int) time.Time {
	return latest(latest(d.sequence.created, d.begunAt()), d.passedBefore(i))
}

// advance works out which groups are passed and released. Predecessors come before a group in the list, so one look at each
// group in the order of the list is enough.
func (d *domain) advance(now time.Time) {
	s := d.sequence
	if s.PerNode && !d.isNode() {
		return // nothing is bound here
	}
	if s.Continuous {
		d.passed, d.passes, d.lastPass = 0, d.passes[:0], time.Time{}
	}
	if s.firstReleased.Load() && !s.refused() {
		d.releasedBefore.Add(0)
	}
	d.released = 0
	for i, g := range s.groups[:min(len(s.groups), spec.MaxGroups)] {
		if !d.passed.Contains(g.Predecessors) {
			continue
		}
		if !s.refused() && (!s.Suspended || d.releasedBefore.Has(i)) {
			d.released.Add(i)
		}
		if !d.passed.Has(i) {
			d.passIfDone(i, now)
		}
	}
	if !s.Suspended && !s.refused() {
		d.releasedBefore = d.released
	}
	d.plan(now)
	if n := len(d.passes); n > 0 && d.isNode() && len(d.groupStates) == 0 {
		d.passes, d.lastPass = nil, d.passes[n-1]
	}
}

// passIfDone passes a group whose predecessors are passed, if it is done itself, or proven to have been passed.
func (d *domain) passIfDone(i int, now time.Time) {
	s := d.sequence
	d.noteSatisfied(i, now)
	at, ok := d.isPassed(i, now)
	if !ok && (s.Continuous || !d.proven.Has(i)) {
		return
	}
	if record := s.record(i); record.PassedAt != nil && !s.Continuous {
		at = record.PassedAt.Time
	} else if !ok {
		// Its pods were released in order, so it was satisfied once; when, nothing says.
		at = now.Truncate(time.Second)
		d.once.Add(i)
	}
	d.passes = append(d.passes, latest(at, d.releasedAt(i))) // not before it was released
	d.passed.Add(i)
}

// plan notes what the domain may still come to, and when time alone will change something.
func (d *domain) plan(now time.Time) {
	d.wake, d.onTheWay = time.Time{}, len(d.sequence.groups)
	current := d.current()
	if d.isNode() && d.node == nil {
		return
	}
	for i := d.firstUndecided(); i < len(d.sequence.groups); i++ {
		// Of groups to come it matters only on a node, where others may have nothing to wait for.
		if !d.isNode() && i > current {
			break
		}
		if at := d.waitOver(i); d.looksSatisfied(i) && now.Before(at) && (d.wake.IsZero() || at.Before(d.wake)) {
			d.wake = at
		}
	}
	if current == len(d.sequence.groups) {
		return
	}
	if at := d.deadline(current); now.Before(at) && !d.satisfiedOnce(current) && (d.wake.IsZero() || at.Before(d.wake)) {
		d.wake = at
	}
	// What comes after a group that has nothing here, or that failed, is not on the way, whatever there is of it.
	if d.isNode() && d.need(current).Expected > 0 && (d.looksSatisfied(current) || !d.timedOut(current, now)) {
		d.onTheWay = current
	}
}

// releases reports whether the members of the group may be scheduled in this domain.
func (d *domain) releases(group int) bool { return d.released.Has(group) }

// recordProof notes that the members of a group had been released: the groups before it were passed.
func (d *domain) recordProof(group int) {
	predecessors := d.sequence.groups[group].Predecessors
	d.proven |= predecessors
	if d.sequence.Suspended {
		d.releasedBefore |= predecessors
		d.releasedBefore.Add(group)
	}
}

// reset forgets what the domain came to before its node was known: it was another node, or the order of events.
func (d *domain) reset() {
	d.passes, d.passed, d.releasedBefore, d.proven, d.once, d.evaluated = nil, 0, 0, 0, 0, false
	for _, state := range d.groupStates {
		state.satisfied, state.confirmed, state.waitConfirmed = false, false, false
		state.since, state.turned, state.witness = time.Time{}, time.Time{}, witness{}
		for p := range state.members {
			if group, ok := p.provenGroup(d.sequence); ok {
				d.recordProof(group)
			}
		}
	}
}

// carry takes over what the domain of an earlier spec of the same object came to, as far as groups are defined the same.
func (d *domain) carry(old *domain, same int) {
	s := d.sequence
	if !s.Continuous {
		for i := d.current(); i < min(old.current(), same); i++ {
			d.passes = append(d.passes, old.passes[i])
			d.passed.Add(i)
		}
	}
	for i := range same {
		if before := old.find(i); before != nil && before.satisfied {
			state := d.groupState(i)
			state.satisfied, state.confirmed, state.waitConfirmed, state.since = true, before.confirmed, before.waitConfirmed, before.since
			state.changed, state.question, state.needThen = before.changed, before.question, before.needThen
		}
	}
	d.once |= old.once & spec.Before(same)
	if s.Suspended {
		d.releasedBefore |= old.releasedBefore & spec.Before(same)
	}
}
