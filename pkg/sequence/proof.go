package sequence

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// That a pod of group i was released proves that the groups before i were passed, whatever has become of their pods. Only
// what we released ourselves is such a proof: a pod that was bound before its PodSequence existed, or by somebody else, says
// nothing about the order. So whoever releases a pod leaves the proof on it with the same write: the scheduler with the
// binding, whoever lifts gates with that patch.
//
// The proof is an annotation: the UID of the pod itself, so that a copy of the pod proves nothing, and then for each of its
// PodSequences that one's UID and the hash of the groups up to the pod's own. A PodSequence that was made again, or whose
// groups are defined in another way, is not the one that released the pod.

// proofOf is the proof that all sequences of a pod release it.
func proofOf(uid types.UID, memberships []membership) string {
	if len(memberships) == 0 {
		return ""
	}
	marks := make([]string, len(memberships))
	for i, m := range memberships {
		marks[i] = m.sequence.ProofMark(m.group)
	}
	slices.Sort(marks)
	return string(uid) + " " + strings.Join(marks, " ")
}

// provenGroup is the group of the sequence that the pod was released in, as its proof says and as groups are defined now.
func (p *pod) provenGroup(s *sequence) (int, bool) { return s.ProvenGroup(p.ProofMarks()) }
