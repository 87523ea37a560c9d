package placement

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/pkg/sequence/inventory"
)

// unlimited is the room of a node that has not said yet what it offers. The sum over many nodes is still a number.
const unlimited = math.MaxInt32

// Room returns how many pods with these requests fit on a node beside those that it has, as the scheduler counts: by every
// resource that they ask for, and by the number of pods. A resource that the node does not list it does not have. Devices of
// which it has none do not count if it may yet get them, see Lacks. used includes the number of pods.
func Room(allocatable, used, requests inventory.Resources, isDriven bool) int {
	if len(allocatable) == 0 {
		return unlimited
	}
	room := allocatable.Of(corev1.ResourcePods) - used.Of(corev1.ResourcePods)
	for _, r := range requests {
		offered, listed := allocatable.Find(r.Name)
		if offered == 0 && (listed || isDriven) && IsDevice(r.Name) {
			continue // nobody knows yet how many there will be
		}
		room = min(room, (offered-used.Of(r.Name))/r.Amount)
	}
	return int(min(max(room, 0), unlimited))
}
