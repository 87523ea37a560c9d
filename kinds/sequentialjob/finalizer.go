package sequentialjob

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/pkg/takeover"
)

// former remembers from which objects the finalizer of the former operator was removed. That operator, if it still runs, writes it again at
// once: so it is removed once, and again only when the object is being deleted.
type former struct {
	lock    sync.Mutex
	removed map[types.NamespacedName]types.UID
}

func newFormer() *former { return &former{removed: map[types.NamespacedName]types.UID{}} }

func (f *former) forget(key types.NamespacedName) {
	f.lock.Lock()
	defer f.lock.Unlock()
	delete(f.removed, key)
}

// isDue reports whether the finalizer is to be removed.
func (f *former) isDue(object *v1alpha1.SequentialJob) bool {
	if !slices.Contains(object.Finalizers, v1alpha1.FormerFinalizer) {
		return false
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	return object.DeletionTimestamp != nil || f.removed[client.ObjectKeyFromObject(object)] != object.UID
}

// removeFormerFinalizer removes what the operator left that had this API first: with it nobody could delete the object. It returns errStale
// if there is a newer version of the object now.
func (r *reconciler) removeFormerFinalizer(ctx context.Context, object *v1alpha1.SequentialJob) error {
	if !r.former.isDue(object) {
		return nil
	}
	// Of an object that cannot be decoded there is only a part here: the patch has the finalizers alone.
	_, err := takeover.RemoveFinalizer(ctx, r.writer, object.DeepCopy(), v1alpha1.FormerFinalizer)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return errStale
	case err != nil:
		return fmt.Errorf("the object cannot be deleted: %w", err)
	}
	klog.FromContext(ctx).Info("Removed the finalizer of the former operator", "finalizer", v1alpha1.FormerFinalizer)
	r.former.lock.Lock()
	defer r.former.lock.Unlock()
	r.former.removed[client.ObjectKeyFromObject(object)] = object.UID
	return errStale
}
