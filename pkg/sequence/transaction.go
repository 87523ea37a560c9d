package sequence

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence/inventory"
)

// transaction is one step of the engine: objects are entered one by one, and only then is it seen what that changes.
type transaction struct {
	version string // of the event; empty if it has none
	// dirtyDomains are those whose sums, nodes or memberships changed.
	dirtyDomains []dirtyDomain
	// counted are members of which the facts changed, and demands those of which the facts or the pods did, see settleSums.
	counted []member
	demands []*demand
	// dirtyPods are those whose verdict may be another one, beside the members of domains.
	dirtyPods []*pod
	// pins are pins that may mean another node than before.
	pins []changedPin
	// entered are the pods of which there is a new version.
	entered []*pod
	// toCheckOrder are pods of which a sequence must find out whether they started out of order.
	toCheckOrder []podInSequence
	// namespaces are those whose sequences changed; a name may be there twice.
	namespaces []string
	// strayed are sequences of which the stray pods changed; a key may be there twice.
	strayed []types.NamespacedName
	// edited are sequences whose waiting pods may wait for something else though no group was passed.
	edited []types.NamespacedName
	// requiring are namespaces of which it changed whether they require a sequence.
	requiring []string
}

// dirtyDomain is a domain, and how far it was before the transaction as of when it is published anew.
type dirtyDomain struct {
	*domain
	before publishedDomain
}

// changedPin is a pin that may mean another node than before.
type changedPin struct {
	inventory.Pin
	added bool // one that it did not mean before
}

// podInSequence is a pod, and one of its sequences; nil for all of them.
type podInSequence struct {
	*pod
	in *sequence
}

func (tx *transaction) markDirty(d *domain) {
	if d != nil && !d.dirty {
		d.dirty = true
		tx.dirtyDomains = append(tx.dirtyDomains, dirtyDomain{domain: d})
	}
}

// mark marks a member: what it adds to the sums is worked out anew.
func (tx *transaction) mark(at member) {
	for i := range at.groups().All() {
		at.domain.groupState(i)
	}
	tx.markDirty(at.domain)
	tx.counted = append(tx.counted, at)
}

// markGroupDirty marks the group for re-evaluation.
func (tx *transaction) markGroupDirty(d *domain, group int) {
	if d != nil {
		d.groupState(group)
		tx.markDirty(d)
	}
}

// noteStray has the sequence reported anew.
func (tx *transaction) noteStray(key types.NamespacedName) {
	if n := len(tx.strayed); n == 0 || tx.strayed[n-1] != key {
		tx.strayed = append(tx.strayed, key)
	}
}

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
