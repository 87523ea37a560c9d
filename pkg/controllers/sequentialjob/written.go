package sequentialjob

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// written remembers which version our last write made of each object, so that a pass that meets an older one, because
// the watch is behind, does not make a write that the API server must refuse. It only saves writes: a process that has
// just started remembers nothing, and is right all the same.
type written struct {
	lock     sync.Mutex
	versions map[types.NamespacedName]string
}

func newWritten() *written {
	return &written{versions: map[types.NamespacedName]string{}}
}

func (m *written) remember(object *v1alpha1.SequentialJob) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.versions[types.NamespacedName{Namespace: object.Namespace, Name: object.Name}] = object.ResourceVersion
}

func (m *written) forget(key types.NamespacedName) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.versions, key)
}

// isOlder reports whether the object is from before our last write. One made again under the same name is newer.
func (m *written) isOlder(object *v1alpha1.SequentialJob) bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	version, ok := m.versions[types.NamespacedName{Namespace: object.Namespace, Name: object.Name}]
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.ResourceVersion, version)
	return err == nil && order < 0
}
