// Package takeover removes what controllers left on objects that PodSequence took over from them.
package takeover

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// FieldOwner is who these writes say they come from.
const FieldOwner = client.FieldOwner("podsequence-controller")

// Patcher changes objects by patch. A client.Client is one.
type Patcher interface {
	Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error
}

// RemoveFinalizer removes the finalizer of a former controller from an object, of which metadata are enough, and reports whether it was
// there. It fails with a conflict if the object has changed since it was read.
func RemoveFinalizer(ctx context.Context, patcher Patcher, object client.Object, finalizer string) (bool, error) {
	before := object.DeepCopyObject().(client.Object)
	if !controllerutil.RemoveFinalizer(object, finalizer) {
		return false, nil
	}
	err := patcher.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), FieldOwner)
	if err != nil {
		return false, fmt.Errorf("remove finalizer %s: %w", finalizer, err)
	}
	return true, nil
}
