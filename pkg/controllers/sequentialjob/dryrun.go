package sequentialjob

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// checked are the objects all of whose steps the API server would accept, and that have yet to start the first. A process that has just
// started remembers nothing, and asks again.
type checked struct {
	lock    sync.Mutex
	objects map[types.NamespacedName]version
}

// version is what was checked of an object.
type version struct {
	uid        types.UID
	generation int64
}

func newChecked() *checked { return &checked{objects: map[types.NamespacedName]version{}} }

func (c *checked) has(object *v1alpha1.SequentialJob) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.objects[client.ObjectKeyFromObject(object)] == version{object.UID, object.Generation}
}

func (c *checked) remember(object *v1alpha1.SequentialJob) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.objects[client.ObjectKeyFromObject(object)] = version{object.UID, object.Generation}
}

func (c *checked) forget(key types.NamespacedName) {
	c.lock.Lock()
	defer c.lock.Unlock()
	delete(c.objects, key)
}
