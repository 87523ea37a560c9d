package sequence

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/pkg/sequence/confirmation"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/placement"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/spec"
)

// domain is where the groups of a sequence are passed in order: the whole cluster, or one node.
type domain struct {
	sequence *sequence
	name     string // of the node; empty for the cluster, and for what is not bound yet
	node     *node  // nil for the cluster, and while the node is not known

	// groupStates are those of the groups that have or had something here, in order; of scope Cluster all. See find and peek.
	groupStates []*groupState
	// progress is how far the sequence is here.
	progress.State
	// reachedBefore are the groups that were reached when the domain was last advanced, see confirmedSinceReached.
	reachedBefore spec.GroupSet
	// onTheWay are the groups whose pods will be open to the node, see placement.Standing.
	onTheWay spec.GroupSet

	// wake is when time alone will change something; zero for never. alarm is set to it.
	wake  time.Time
	alarm progress.Alarm[*domain]

	// unconfirmed reports that it would go on if it was confirmed that no event is missing.
	unconfirmed bool
	asks        []Subject // what for

	evaluated bool            // it has been settled at least once
	dirty     bool            // it will be settled at the end of this transaction
	published publishedDomain // when it was last settled; guarded by the sequence's domainsMu
}

// publishedDomain is how far a domain was when it was last published.
type publishedDomain struct {
	placement.Standing
	// unconfirmed reports that the domain would go on if it was confirmed that no event is missing.
	unconfirmed bool
	// unmatched are the groups under way that no pod and no workload matches, see readiness.Need.
	unmatched spec.GroupSet
	// unpublished marks the domains of a sequence that is new, or new in this form.
	unpublished bool
}

// standing is how far the domain is now.
func (d *domain) standing() placement.Standing {
	return placement.Standing{Passed: d.Passed, Released: d.Released, OnTheWay: d.onTheWay, Known: d.node != nil}
}

// current is the first group that is waited for and not passed; len(groups) when none is.
func (d *domain) current() int {
	return min((d.Passed | d.sequence.Skipped).FirstMissing(), len(d.sequence.groups))
}

// publish publishes how far the domain is, and returns what was published before.
func (d *domain) publish() (before publishedDomain) {
	d.sequence.domainsMu.Lock()
	defer d.sequence.domainsMu.Unlock()
	before, d.published = d.published, publishedDomain{Standing: d.standing(), unconfirmed: d.unconfirmed, unmatched: d.unmatchedGroups()}
	return before
}

// unmatchedGroups returns the groups under way that no pod and no workload matches, as of when they were last evaluated.
func (d *domain) unmatchedGroups() spec.GroupSet {
	nothing := spec.GroupSet(0)
	for i := range d.Current().All() {
		if d.isUnmatched(i) {
			nothing.Add(i)
		}
	}
	return nothing
}

func (d *domain) isUnmatched(i int) bool {
	if state := d.find(i); state != nil {
		return state.lastNeed.NothingMatches()
	}
	minAvailable := d.sequence.groups[i].MinAvailable
	return minAvailable == nil || minAvailable.Type == intstr.String // else it is said how many there must be
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

// evaluate brings what is known of each group up to the sums, which the transaction may have changed. It must come before
// advance.
func (d *domain) evaluate(k *knowledge, tx *transaction) {
	question, version := tx.Question, tx.version
	if !d.evaluated {
		question, version = k.questions.nowMoment(), k.questions.newest
	}
	for _, state := range d.groupStates {
		i, question, version := state.group, question, version
		if d.evaluated && !state.dirty {
			d.settleConfirmation(i, k)
			continue
		}
		facts := d.facts(i)
		need := facts.Need()
		satisfied := !d.sequence.refused() && facts.IsSatisfied(need)
		if state.changed.Moment == 0 {
			question, version = k.questions.nowMoment(), k.questions.newest // until now nothing of it was looked at
		}
		state.changed = state.changed.And(question)
		if version == "" || version != question.Version { // else it is the newest of all
			version = inventory.Newest(state.asOf, version)
		}
		state.asOf = version
		if need.Ready = 0; !state.satisfied || need != state.lastNeed || tx.relisted {
			state.question, state.lastNeed, state.confirmed = state.changed, need, false
		}
		if g := d.sequence.groups[i]; g.watchedSince.IsZero() {
			g.watchedSince = k.now.Truncate(time.Second)
		}
		state.witness.Notice(tx.version, !tx.relisted && !k.questions.versionsIncomparable)
		sinceFacts := d.sinceFacts(i, satisfied, k.now)
		state.since = sinceFacts.Since(func() time.Time { return d.readySince(i) })
		state.satisfied, state.unsatisfiedBefore, state.dirty, state.turned = satisfied, false, false, time.Time{}
		d.settleConfirmation(i, k)
	}
	d.evaluated = true
}

// advance works out which groups are passed and released, what the domain may still come to, and when time alone will change
// something.
func (d *domain) advance(now time.Time) {
	s := d.sequence
	if s.PerNode && !d.isNode() {
		return // nothing is bound here
	}
	facts := d.progressFacts()
	d.reachedBefore, s.knowledge.questions.reachedAsOf.known = d.Reached, 0
	d.Advance(facts, now)
	d.reconfirmReached()
	d.wake = d.NextWake(facts, now)
	d.onTheWay = d.OnTheWay(facts, d.expects, now)
	if d.isNode() && len(d.groupStates) == 0 {
		d.Compact(s.Sequence)
	}
}

// releases reports whether the members of the group may be scheduled in this domain.
func (d *domain) releases(group int) bool { return d.Released.Has(group) }

// recordProof notes that the members of a group had been released, and that groups had been passed.
func (d *domain) recordProof(group int, passed spec.GroupSet) {
	d.Proven |= passed
	if d.sequence.Suspended {
		d.ReleasedBefore |= d.sequence.groups[group].Predecessors
		d.ReleasedBefore.Add(group)
	}
}

// reset forgets what the domain came to before its node was known: it was another node, or the order of events.
func (d *domain) reset() {
	d.State, d.evaluated = progress.State{Reached: d.Reached, Released: d.Released}, false
	for _, state := range d.groupStates {
		state.satisfied, state.unsatisfiedBefore, state.confirmed, state.waitConfirmed = false, false, false, false
		state.since, state.turned, state.witness = time.Time{}, time.Time{}, confirmation.Witness{}
		for p := range state.members {
			if group, passed, ok := p.provenGroup(d.sequence); ok {
				d.recordProof(group, passed)
			}
		}
	}
}

// inheritProgress takes over what the domain of an earlier spec of the same object came to, as far as groups are defined the same.
func (d *domain) inheritProgress(old *domain, same spec.Same) {
	s := d.sequence
	if !s.Continuous && !old.sequence.Continuous {
		for i := range (same.Set(old.Passed) &^ d.Passed).All() {
			d.Pass(i, old.PassedAt(same[i]))
		}
	}
	for i, earlier := range same {
		if earlier < 0 {
			continue
		}
		if before := old.find(earlier); before != nil && before.satisfied {
			state := d.groupState(i)
			state.satisfied, state.confirmed, state.waitConfirmed, state.since = true, before.confirmed, before.waitConfirmed, before.since
			state.changed, state.question, state.asOf, state.lastNeed = before.changed, before.question, before.asOf, before.lastNeed
		} else if state := d.find(i); state != nil && old.evaluated {
			state.unsatisfiedBefore = !old.looksSatisfied(earlier)
		}
	}
	d.Once |= same.Set(old.Once)
	if s.Suspended {
		d.ReleasedBefore |= same.Set(old.ReleasedBefore)
	}
}

// nodeCreatedAt is when the domain's node was created; zero in the cluster, and while the node is not known.
func (d *domain) nodeCreatedAt() time.Time {
	if d.node == nil {
		return time.Time{}
	}
	return d.node.Object.CreationTimestamp.Time
}

// isDone reports whether a member has reached what its group requires.
func (d *domain) isDone(p *pod, group int) bool {
	return readiness.IsDone(p.Pod, d.sequence.groups[group].Required, d.nodeCreatedAt()) && !d.peek(group).onTrial(p)
}
