package sequence

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/confirmation"
	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/spec"
)

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

// provenGroup is the group of the sequence that the pod was released in, as its proof says and as groups are defined now, and
// the groups that had been passed.
func (p *pod) provenGroup(s *sequence) (group int, passed spec.GroupSet, ok bool) {
	group, passed, ok = s.ProvenGroup(p.ProofMarks())
	if facts := (hold.Facts{PerNode: s.PerNode, Waits: passed != 0}); !facts.Proves(p.Bound()) {
		return 0, 0, false
	}
	return group, passed, ok
}

// canProve reports whether a proof on the pod counts: the pod must have got what the proof was written for, a node or its gate lifted.
// Otherwise whoever may annotate a held pod could release others where no policy protects the annotation. That a pod of our scheduler
// has no gate says nothing, for it needs none to be held. So its proof counts again when a scheduler has looked for a node.
func (set *settings) canProve(p *pod) bool {
	if p.Bound() {
		return true
	}
	isGated := slices.ContainsFunc(p.Gates(), func(gate string) bool { return spec.IsGateAllowed(gate, set.GatePrefixes) })
	return !isGated && (p.Tried || !set.isOurs(p))
}

// That a pod was released proves that the groups that it waited for were passed, whatever has become of their pods. Only
// what we released ourselves is such a proof: a pod that was bound before its PodSequence existed, or by somebody else, says
// nothing about the order. So whoever releases a pod leaves the proof on it with the same write: the scheduler with the
// binding, whoever lifts gates with that patch.
//
// The proof is an annotation: the UID of the pod itself, so that a copy of the pod proves nothing, and then for each of its
// PodSequences that one's UID and the hash of the pod's group and of those before it. The hashes of groups that the pod did not
// wait for, because they were skipped, follow: nothing is proven about them. A PodSequence that was made again, or whose groups
// are defined in another way, is not the one that released the pod.

// proofOf is the proof that all sequences of a pod release it: for its binding to a node, or only for its gates to be lifted.
func proofOf(uid types.UID, memberships []membership, toNode bool) string {
	var marks []string
	for _, m := range memberships {
		if m.holdFacts().Proves(toNode) {
			marks = append(marks, m.sequence.ProofMark(m.group))
		}
	}
	if len(marks) == 0 {
		return ""
	}
	slices.Sort(marks)
	return string(uid) + " " + strings.Join(marks, " ")
}
