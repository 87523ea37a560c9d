package podsequence

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/takeover"
)

// finalizerAgain is when a finalizer that could not be removed is tried again.
const finalizerAgain = 30 * time.Second

// formerFinalizers removes the finalizer of the controller that PodSequence replaces, so that PodSequences and their namespaces can be
// deleted, also once podsequence-controller is gone.
//
// That controller, if it still runs, writes the finalizer again as soon as it is removed. So it is removed once from each object, and
// again only when the object is being deleted: otherwise the two programs would keep each other busy.
type formerFinalizers struct {
	objects takeover.Patcher

	mu      sync.Mutex
	removed map[types.NamespacedName]types.UID
}

func newFormerFinalizers(objects takeover.Patcher) *formerFinalizers {
	return &formerFinalizers{objects: objects, removed: map[types.NamespacedName]types.UID{}}
}

// isDue reports whether the finalizer is to be removed from the object of a report.
func (f *formerFinalizers) isDue(key types.NamespacedName, report report.Report) bool {
	if report.Cluster != nil || !slices.Contains(report.Object.Finalizers, v1alpha1.FormerFinalizer) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return report.Object.DeletionTimestamp != nil || f.removed[key] != report.Object.UID
}

// remove removes the finalizer. It reports whether there is nothing more to do for the version of the object that was reported on: it
// has changed, or is gone.
func (f *formerFinalizers) remove(ctx context.Context, key types.NamespacedName, report report.Report) bool {
	logger := klog.FromContext(ctx).WithValues("finalizer", v1alpha1.FormerFinalizer)
	object := &metav1.PartialObjectMetadata{ObjectMeta: *report.Object.ObjectMeta.DeepCopy()}
	object.SetGroupVersionKind(v1alpha1.PodSequenceKind)
	_, err := takeover.RemoveFinalizer(ctx, f.objects, object, v1alpha1.FormerFinalizer)
	switch {
	case apierrors.IsConflict(err):
		logger.V(4).Info("The sequence changed, will look at its finalizers again", "err", err)
		return true
	case apierrors.IsNotFound(err):
		return true
	case err != nil:
		logger.Error(err, "Could not remove the finalizer of the controller that PodSequence replaces; the sequence cannot be deleted, will retry")
		return false
	}
	logger.Info("Removed the finalizer of the controller that PodSequence replaces")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removed[key] = report.Object.UID
	return true
}

// forget is for objects that are gone.
func (f *formerFinalizers) forget(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.removed, key)
}
