package sequence

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence/inventory"
)

// Unlisted are the objects of a kind in a namespace, or in all if that is empty, that the engine knows and that are not in a list of this version: they
// were gone when it was made. Versions are those of one kind, which can always be compared. An object that is newer than the
// list is none of them.
func (e *Engine) Unlisted(kind inventory.Kind, namespace string, listed sets.Set[types.UID], version string) []types.UID {
	e.mu.RLock()
	defer e.mu.RUnlock()

	var gone []types.UID
	add := func(uid types.UID, known string) {
		if !listed.Has(uid) && !inventory.Newer(known, version) {
			gone = append(gone, uid)
		}
	}
	if kind == inventory.KindPod {
		for p := range e.namespaces.podsOf(namespace) {
			add(p.UID, p.ResourceVersion)
		}
		return gone
	}
	ofNamespaces := e.workloads.byNamespace
	if namespace != "" {
		ofNamespaces = map[string]map[*workload]struct{}{namespace: e.workloads.byNamespace[namespace]}
	}
	for _, workloads := range ofNamespaces {
		for w := range workloads {
			if w.Kind == kind {
				add(w.UID, w.ResourceVersion)
			}
		}
	}
	return gone
}

// KnowsAny reports whether the engine still knows any of these objects.
func (e *Engine) KnowsAny(kind inventory.Kind, namespace string, uids []types.UID) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()

	if kind != inventory.KindPod {
		for _, uid := range uids {
			if e.workloads.byUID[uid] != nil {
				return true
			}
		}
		return false
	}
	wanted := sets.New(uids...)
	for p := range e.namespaces.podsOf(namespace) {
		if wanted.Has(p.UID) {
			return true
		}
	}
	return false
}

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
