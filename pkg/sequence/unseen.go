package sequence

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
)

// unseenPods are pods that wait because of an answer about a version of them that no event has brought yet. Their release is reported
// when they come.
//
// They have a lock of their own, because questions are asked under the engine's read lock.
type unseenPods struct {
	mu       sync.Mutex
	versions map[types.UID]string
	brought  string // the newest version of a pod that an event or a list has brought
}

// ReportWhenSeen makes the engine report the release of this pod once it knows the pod: the caller holds it.
func (e *Engine) ReportWhenSeen(object *corev1.Pod) { e.unseen.add(object.UID, object.ResourceVersion) }

// add notes a pod. One that an event must have brought by now is either known or gone, and would never be taken out again.
func (u *unseenPods) add(uid types.UID, version string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.brought == "" || inventory.Newer(version, u.brought) {
		u.versions[uid] = version
	}
}

// take reports whether the pod was noted, and forgets that. version is that of the event that brought it, or told that it is
// gone. What the event brought must be published before, for nothing is noted any more that it brought.
func (u *unseenPods) take(uid types.UID, version string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if inventory.Behind(u.brought, version) {
		u.brought = version
	}
	_, was := u.versions[uid]
	delete(u.versions, uid)
	return was
}

// listed forgets the pods that a list of this version does not have and should. Those that it has were taken before.
func (u *unseenPods) listed(version string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if inventory.Behind(u.brought, version) {
		u.brought = version
	}
	for uid, seen := range u.versions {
		if !inventory.Newer(seen, version) {
			delete(u.versions, uid)
		}
	}
}
