package sequence

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence/inventory"
)

// UnlistedSequences are the PodSequences, or the ClusterPodSequences, that the engine knows and that are not in a list of this
// version: they were gone when it was made. One that is newer than the list is none of them.
func (e *Engine) UnlistedSequences(cluster bool, listed sets.Set[types.UID], version string) []types.UID {
	e.mu.RLock()
	defer e.mu.RUnlock()

	var gone []types.UID
	for _, s := range e.sequences {
		if s.Cluster == cluster && !listed.Has(s.UID) && !inventory.Newer(s.object.ResourceVersion, version) {
			gone = append(gone, s.UID)
		}
	}
	return gone
}

// KnowsAnySequence reports whether the engine still knows any of these PodSequences or ClusterPodSequences.
func (e *Engine) KnowsAnySequence(uids []types.UID) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()

	wanted := sets.New(uids...)
	for _, s := range e.sequences {
		if wanted.Has(s.UID) {
			return true
		}
	}
	return false
}
