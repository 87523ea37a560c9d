package placement

import "example.com/podsequence/pkg/sequence/spec"

// Standing is how far a sequence is in one domain.
type Standing struct {
	// Released are the groups whose pods may be scheduled there.
	Released spec.GroupSet
	// Current is the first group that is not passed; the number of groups when all are.
	Current int
	// OnTheWay is the current group if it has pods there, or a DaemonSet due, and may yet be passed; otherwise the number of
	// groups.
	OnTheWay int
	// Known reports that the node is known. On one that is not known nothing is open.
	Known bool
}

// State is what a node is to the pods of a group.
type State = byte

const (
	Unsuitable State = iota
	Closed           // an earlier group is not passed there, and nothing is on the way
	OnTheWay         // an earlier group is not passed there, but is on the way
	Open             // the pods may be scheduled there
)

// State returns what the node with this standing is to the pods of a group, if it suits them.
func (s Standing) State(group int) State {
	switch {
	case !s.Known:
		return Closed
	case s.Released.Has(group):
		return Open
	case group <= s.Current, s.OnTheWay < group: // suspended, or something is on the way
		return OnTheWay
	}
	return Closed
}

// OnEmptyNode returns how far a sequence is on a node where it has nothing. That follows from the node's labels alone: the
// first group that is for the node waits for pods, and closes the rest. firstReleased reports that the first group had been
// released, so that a suspension does not hold it.
func OnEmptyNode(s *spec.Sequence, nodeLabels map[string]string, refused, firstReleased bool) Standing {
	at := Standing{Current: s.FirstOn(nodeLabels), OnTheWay: len(s.Groups), Known: true}
	switch {
	case refused, s.Suspended && !firstReleased:
	case s.Suspended:
		at.Released = spec.Before(1)
	default:
		at.Released = spec.Before(min(at.Current+1, len(s.Groups)))
	}
	return at
}
