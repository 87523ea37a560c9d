package takeover

import (
	"context"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Finalizers removes the finalizer of a former controller, so that objects and their namespaces can be deleted, also once no controller
// of PodSequence runs any more.
//
// The former controller, if it still runs, writes the finalizer again as soon as it is removed. So it is removed once from each object, and
// again only when the object is being deleted: otherwise the two programs would keep each other busy.
type Finalizers struct {
	finalizer string

	mu      sync.Mutex
	removed map[types.NamespacedName]types.UID
}

// NewFinalizers returns what removes this finalizer.
func NewFinalizers(finalizer string) *Finalizers {
	return &Finalizers{finalizer: finalizer, removed: map[types.NamespacedName]types.UID{}}
}

// Remove removes the finalizer from an object, of which metadata are enough, if that is due. It reports whether there is nothing more to
// do for this version of the object: it has changed, or is gone.
func (f *Finalizers) Remove(ctx context.Context, patcher Patcher, object client.Object) (isDone bool, err error) {
	if !f.isDue(object) {
		return false, nil
	}
	_, err = RemoveFinalizer(ctx, patcher, object.DeepCopyObject().(client.Object), f.finalizer)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, err
	}
	klog.FromContext(ctx).Info("Removed the finalizer of a former controller", "finalizer", f.finalizer)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removed[client.ObjectKeyFromObject(object)] = object.GetUID()
	return true, nil
}

func (f *Finalizers) isDue(object client.Object) bool {
	if !slices.Contains(object.GetFinalizers(), f.finalizer) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return object.GetDeletionTimestamp() != nil || f.removed[client.ObjectKeyFromObject(object)] != object.GetUID()
}

// Forget is for objects that are gone.
func (f *Finalizers) Forget(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.removed, key)
}
