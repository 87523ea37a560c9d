package deploymentcoordination

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// written remembers what we wrote until the cache has it. To decide from older objects would be to decide without
// knowing what was decided last: a pause of our own, not seen yet, looks like one that somebody took back.
//
// It is used by one reconcile at a time, that of the objects' namespace.
type written map[types.UID]string

func (w written) note(object client.Object) { w[object.GetUID()] = object.GetResourceVersion() }

// lags reports whether the object is older than what we wrote. The event that brings the newer one is yet to come.
func (w written) lags(object client.Object) bool {
	version, ok := w[object.GetUID()]
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), version)
	if err == nil && order < 0 {
		return true
	}
	delete(w, object.GetUID())
	return false
}
