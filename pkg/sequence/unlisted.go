package sequence

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Unlisted are the objects of a kind in a namespace that the engine knows and that are not in a list of this version: they
// were gone when it was made. Versions are those of one kind, which can always be compared. An object that is newer than the
// list is none of them.
func (e *Engine) Unlisted(kind WorkloadKind, namespace string, listed sets.Set[types.UID], version string) []types.UID {
	e.mu.RLock()
	defer e.mu.RUnlock()

	var gone []types.UID
	add := func(uid types.UID, known string) {
		if !listed.Has(uid) && !newer(known, version) {
			gone = append(gone, uid)
		}
	}
	if kind == KindPod {
		for _, p := range e.podsIn(namespace) {
			add(p.uid, p.resourceVersion)
		}
		return gone
	}
	for w := range e.workloads.of[namespace] {
		if w.kind == kind {
			add(w.uid, w.resourceVersion)
		}
	}
	return gone
}

// KnowsAny reports whether the engine still knows any of these objects.
func (e *Engine) KnowsAny(kind WorkloadKind, namespace string, uids []types.UID) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()

	if kind != KindPod {
		for _, uid := range uids {
			if e.workloads.byUID[uid] != nil {
				return true
			}
		}
		return false
	}
	wanted := sets.New(uids...)
	for _, p := range e.podsIn(namespace) {
		if wanted.Has(p.uid) {
			return true
		}
	}
	return false
}
