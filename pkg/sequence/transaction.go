package sequence

import (
	"k8s.io/apimachinery/pkg/types"

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
