package sequence

import (
	"cmp"
	"strings"
	"sync/atomic"
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/readiness"
)

// group is one pod group, and what the engine knows of it wherever it is.
type group struct {
	*order.Group

	watchedSince time.Time // since when the engine watches it, defined as it is
	editedAt     time.Time // when an edit gave it this definition; zero if none did that the engine saw

	// failuresOverAt is when the newest Job of the group was created that has completed, whether it is still there or not. In scope Node
	// it is not kept.
	failuresOverAt time.Time

	// demands are the workloads whose pods this group selects.
	demands map[*demand]struct{}

	// open are the nodes that were open to it at the last look, see Placement.OpenNodes.
	open atomic.Pointer[OpenNodes]

	// objects are what status says of the objects that the group waits for.
	objects readiness.Objects

	// onlyPlace are the memberships of a pod that has only this one.
	onlyPlace *[]membership
}

// requirement is what the group asks of each of its members.
func (g *group) requirement() inventory.Requirement { return readiness.RequirementOf(g.Group) }

// newestJob is the Job of a group that was created last and is not being deleted; the zero value if there is none. Of several of one second
// it is the first by name, however often it is asked for: status names it.
func (g *group) newestJob() *inventory.Workload {
	newest := &inventory.Workload{}
	for demand := range g.demands {
		w := &demand.workload.Workload
		if w.Kind != inventory.KindJob || w.Terminating {
			continue
		}
		if cmp.Or(w.CreatedAt.Compare(newest.CreatedAt), strings.Compare(newest.Namespace, w.Namespace), strings.Compare(newest.Name, w.Name)) > 0 {
			newest = w
		}
	}
	return newest
}
