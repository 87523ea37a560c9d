package progress

import (
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
)

// Domain is what is known of one domain, before anything follows from it.
type Domain struct {
	*order.Sequence
	Facts
	// Refused reports that the target namespace does not allow the sequence: then it releases nothing.
	Refused bool
	// OnNode reports that the domain is a node. Known reports that there is such a node, as far as anybody knows.
	OnNode, Known bool
	// ReleasedAtFirst are groups that had been released as soon as there was the sequence, so that a suspension does not hold them.
	ReleasedAtFirst order.GroupSet
}

// Records reports whether passes are permanent here, so that a group is passed once status records it and not before. A dry run
// records nothing: it must not release anything later. On nodes nothing is recorded.
func (d *Domain) Records() bool { return !d.PerNode && !d.Continuous && !d.DryRunRequested }

// Facts are what is known of the groups of a domain.
type Facts interface {
	// Readiness returns how far a group is.
	Readiness(group int) Readiness
	// IsAbsent reports whether nothing of a group is on the node or due there.
	IsAbsent(group int) bool
	// Recorded returns what status says of a group that is still defined in the same way.
	Recorded(group int) v1alpha1.GroupStatus
	// RecordedPass returns the pass of a group that status records.
	RecordedPass(group int) (pass v1alpha1.GroupPass, recorded bool)
	// Origin returns what says since when a group can have been released.
	Origin(group int) Origin
}

// Readiness is how far one group is.
type Readiness struct {
	// Elsewhere reports that the group is not for this node.
	Elsewhere bool
	// Satisfied reports that the group is satisfied as far as anybody knows. Since is when it became so.
	Satisfied bool
	Since     time.Time
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
