package sequence

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/spec"
)

// A pod that was bound may have been released in its turn, or have been bound before its PodSequence existed, or by somebody else. So
// whoever releases a pod leaves a proof on it with the same write: the scheduler with the binding, whoever lifts gates with that patch. It
// passes no group, status does. It tells that the group had been released before a suspension, and that the pod did not start out of order.
//
// The proof is an annotation: the UID of the pod itself, so that a copy of the pod proves nothing, and then for each of its
// PodSequences that one's UID and the hash of the pod's group and of those before it. The hashes of groups that the pod did not
// wait for, because they were skipped, follow: nothing is proven about them. A PodSequence that was made again, or whose groups
// are defined in another way, is not the one that released the pod.

// recordProof notes that the members of a group had been released, which a suspension does not take back.
func (d *domain) recordProof(group int) {
	if d.sequence.Suspended {
		d.ReleasedBefore |= d.sequence.groups[group].Predecessors
		d.ReleasedBefore.Add(group)
	}
}

// provenGroup is the group of the sequence that the pod was released in, as its proof says and as groups are defined now.
func (p *pod) provenGroup(s *sequence) (group int, ok bool) {
	group, passed, ok := s.ProvenGroup(p.ProofMarks())
	if facts := (hold.Facts{PerNode: s.PerNode, Waits: passed != 0}); !facts.Proves(p.Bound()) {
		return 0, false
	}
	return group, ok
}

// canProve reports whether a proof on the pod counts: the pod must have got what the proof was written for, a node or its gate lifted.
// Otherwise whoever may annotate a held pod could release it and others from a suspension where no policy protects the annotation. That a
// pod of our scheduler has no gate says nothing, for it needs none to be held. So its proof counts again when a scheduler has looked for a
// node.
func (set *settings) canProve(p *pod) bool {
	if p.Bound() {
		return true
	}
	isGated := slices.ContainsFunc(p.Gates(), func(gate string) bool { return spec.IsGateAllowed(gate, set.GatePrefixes) })
	return !isGated && (p.Tried || !set.isOurs(p))
}

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
