package progress

import (
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/spec"
)

// Domain is what is known of one domain, before anything follows from it.
type Domain struct {
	*spec.Sequence
	Facts
	// Refused reports that the target namespace does not allow the sequence: then it releases nothing.
	Refused bool
	// OnNode reports that the domain is a node. Known reports that there is such a node, as far as anybody knows.
	OnNode, Known bool
	// ReleasedAtFirst are groups that had been released as soon as there was the sequence, so that a suspension does not hold them.
	ReleasedAtFirst spec.GroupSet
}

// Facts are what is known of the groups of a domain.
type Facts interface {
	// Readiness returns how far a group is.
	Readiness(group int) Readiness
	// Recorded returns what status says of a group that is still defined in the same way.
	Recorded(group int) v1alpha1.GroupStatus
	// Origin returns what says since when a group can have been released.
	Origin(group int) Origin
}

// Readiness is how far one group is.
type Readiness struct {
	// Elsewhere reports that the group is not for this node.
	Elsewhere bool
	// Satisfied reports that the group is satisfied as far as anybody knows, and Confirmed that no event is missing which says
	// otherwise. Since is when it became so.
	Satisfied, Confirmed bool
	Since                time.Time
	// Witnessed reports that the group was satisfied at WitnessedAt, whatever it is now.
	Witnessed   bool
	WitnessedAt time.Time
	// Unfinished reports, of a group that was complete, that something of it is there that is not.
	Unfinished bool
	// NeedsNothing reports that the group is satisfied whatever there is of it.
	NeedsNothing bool
}

// Origin is what says since when one group can have been released; a time that does not apply is zero.
type Origin struct {
	// Created is when the sequence began to count.
	Created time.Time
	// Edited is when an edit made the group what it is.
	Edited time.Time
	// Resumed is when a suspension was lifted.
	Resumed time.Time
	// Watched is since when this program watches the group, defined as it is.
	Watched time.Time
}
