package sequence

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Changes is what one event brought about.
type Changes struct {
	// Released are the pods that this event released, and pods first seen that carry a gate and may be scheduled.
	Released []Release
	// Sequences are those whose report may have changed.
	Sequences sets.Set[types.NamespacedName]
	// Held are pods that must wait from now on, or wait for another sequence than before, or on the one node that they ask
	// for wait for another group.
	Held []types.NamespacedName
	// Nominated are pods of our scheduler that must wait and for which a nomination keeps room, see Engine.Nomination. Each is
	// reported whenever something about its wait may have changed.
	Nominated []types.NamespacedName
	// Advanced are the sequences whose waiting pods wait for another group than before, see Engine.Waiting.
	Advanced []types.NamespacedName
	// Ripe are the sequences with passes that are to be recorded, see Engine.Ripe.
	Ripe []types.NamespacedName
	// Requiring are the namespaces that require a sequence from now on, or require none any more.
	Requiring []string
}

// Release is a pod that may be scheduled.
type Release struct {
	Namespace, Name string
	UID             types.UID
	SchedulerName   string
	CreatedAt       time.Time
	// Gates are those of its gates that its sequences lift: none when the pod was held without a gate.
	Gates []string
	// StillGated reports that it also carries gates that are not for its sequences to lift.
	StillGated bool
	// Again reports that nothing held the pod before either: there is a gate to be lifted, or a node has opened that its scheduler is to try.
	Again bool
}

// Empty reports whether nothing was brought about.
func (c *Changes) Empty() bool {
	return len(c.Released) == 0 && len(c.Sequences) == 0 && len(c.Held) == 0 && len(c.Nominated) == 0 &&
		len(c.Advanced) == 0 && len(c.Ripe) == 0 && len(c.Requiring) == 0
}

func (c *Changes) touch(key types.NamespacedName) {
	if c.Sequences == nil {
		c.Sequences = sets.New[types.NamespacedName]()
	}
	c.Sequences.Insert(key)
}
