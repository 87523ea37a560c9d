package placement

import (
	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/spec"
)

// Standing is how far a sequence is in one domain.
type Standing struct {
	// Passed are the groups that nothing waits for any more.
	Passed spec.GroupSet
	// Released are the groups whose pods may be scheduled there.
	Released spec.GroupSet
	// Known reports that the node is known. On one that is not known nothing is open.
	Known bool
}

// Open returns the groups to which the node with this standing is open.
func (s Standing) Open() spec.GroupSet {
	if !s.Known {
		return 0
	}
	return s.Released
}

// IsOpen reports whether the node with this standing is open to the pods of a group.
func (s Standing) IsOpen(group int) bool { return s.Open().Has(group) }

// OnEmptyNode returns how far a sequence is on a node where it has nothing. That follows from the node's labels alone: the
// first groups that are for the node wait for pods, and close the rest. before are the groups that had been released when the sequence
// was suspended.
func OnEmptyNode(s *spec.Sequence, nodeLabels map[string]string, refused bool, before spec.GroupSet) Standing {
	at := Standing{Known: true}
	var reached spec.GroupSet
	at.Passed, reached = s.ReachedOn(nodeLabels)
	at.Released = hold.Released(reached, before, s.Suspended, refused)
	return at
}
