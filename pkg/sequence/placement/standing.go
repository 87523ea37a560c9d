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
	// OnTheWay are the groups whose pods may not be scheduled there yet, but will be if all goes well: each group that they
	// wait for has pods there, or a DaemonSet due, and may yet be passed.
	OnTheWay spec.GroupSet
	// Known reports that the node is known. On one that is not known nothing is open.
	Known bool
}

// State is what a node is to the pods of a group.
type State = byte

const (
	Unsuitable  State = iota
	Lacking           // it lacks devices that the pods ask for, and no driver that they wait for brings them there; nor is it open
	LackingOpen       // the same of a node that is open
	Closed            // a group that they wait for is not passed there, and nothing is on the way
	OnTheWay          // a group that they wait for is not passed there, but is on the way
	Open              // the pods may be scheduled there
)

// State returns what the node with this standing is to the pods of a group, if it suits them.
func (s Standing) State(group int) State {
	switch {
	case !s.Known:
		return Closed
	case s.Released.Has(group):
		return Open
	case s.OnTheWay.Has(group):
		return OnTheWay
	}
	return Closed
}

// OnEmptyNode returns how far a sequence is on a node where it has nothing. That follows from the node's labels alone: the
// first groups that are for the node wait for pods, and close the rest. before are the groups that had been released when the sequence
// was suspended.
func OnEmptyNode(s *spec.Sequence, nodeLabels map[string]string, refused bool, before spec.GroupSet) Standing {
	at := Standing{Known: true}
	var reached spec.GroupSet
	at.Passed, reached = s.ReachedOn(nodeLabels)
	at.Released = hold.Released(reached, before, s.Suspended, refused)
	at.OnTheWay = reached &^ at.Released // they wait for the sequence alone
	return at
}
