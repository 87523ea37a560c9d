package sequence

import (
	"hash/maphash"
	"iter"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// podTable holds what is published of pods by namespace and name. A reader waits until one entry is stored, at most until all has
// read one part. Readers of a sync.Map would wait for nothing, but it takes 140 bytes a pod, and this takes 60. The zero value is
// an empty table.
type podTable struct {
	parts [64]podTablePart
}

type podTablePart struct {
	mu   sync.RWMutex
	pods map[types.NamespacedName]*publishedPod
	most int // that it has had room for
}

var podTableSeed = maphash.MakeSeed()

func (t *podTable) part(key types.NamespacedName) *podTablePart {
	hash := maphash.String(podTableSeed, key.Namespace) + 3*maphash.String(podTableSeed, key.Name)
	return &t.parts[hash%uint64(len(t.parts))]
}

// load returns nil if nothing is published of the pod.
func (t *podTable) load(key types.NamespacedName) *publishedPod {
	part := t.part(key)
	part.mu.RLock()
	pod := part.pods[key]
	part.mu.RUnlock()
	return pod
}

func (t *podTable) store(key types.NamespacedName, pod *publishedPod) {
	part := t.part(key)
	part.mu.Lock()
	defer part.mu.Unlock()
	if part.pods == nil {
		part.pods = map[types.NamespacedName]*publishedPod{}
	}
	part.pods[key] = pod
	part.most = max(part.most, len(part.pods))
}

func (t *podTable) delete(key types.NamespacedName) {
	part := t.part(key)
	part.mu.Lock()
	defer part.mu.Unlock()
	if delete(part.pods, key); len(part.pods) <= part.most/4 { // a map keeps the room that it once needed
		part.most = len(part.pods)
		part.pods = maps.Collect(maps.All(part.pods))
	}
}

// all are what is published. Who stores one of them waits until a part of them has been looked at.
func (t *podTable) all() iter.Seq2[types.NamespacedName, *publishedPod] {
	return func(yield func(types.NamespacedName, *publishedPod) bool) {
		for i := range t.parts {
			if !t.parts[i].each(yield) {
				return
			}
		}
	}
}

func (part *podTablePart) each(yield func(types.NamespacedName, *publishedPod) bool) bool {
	part.mu.RLock()
	defer part.mu.RUnlock()
	for key, pod := range part.pods {
		if !yield(key, pod) {
			return false
		}
	}
	return true
}
