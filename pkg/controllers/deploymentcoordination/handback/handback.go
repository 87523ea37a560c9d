// Package handback returns to their owners what DeploymentCoordinations hold: Deployments that are paused, and the finalizer.
// It is apart from the controller for those who remove that.
package handback

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "example.com/podsequence/apis/apps/v1"
)

// FieldOwner is who the writes of this controller say they come from.
const FieldOwner = client.FieldOwner("podsequence-controller")

// PausedBy names the coordination on whose behalf this controller paused a Deployment, of which metadata are enough. It is
// empty if the controller did not: then the pause, if there is one, is its owner's.
func PausedBy(d metav1.Object) string { return d.GetAnnotations()[v1.PausedByAnnotation] }

// SetUnpaused unpauses a Deployment that this controller paused, and takes the mark off.
func SetUnpaused(d *appsv1.Deployment) {
	d.Spec.Paused = false
	delete(d.Annotations, v1.PausedByAnnotation)
	delete(d.Annotations, v1.PauseReasonAnnotation)
}

// Unpause writes that a Deployment which this controller paused is unpaused, as the controller does when it releases it. It
// is for those who remove the controller, or run it with their own permissions. The policy keeps paused what waits: it allows those
// who are not the controller to unpause if they leave one of the two annotations. So to remove that is another write.
func Unpause(ctx context.Context, writer client.Writer, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	unpaused := d.DeepCopy()
	SetUnpaused(unpaused)
	if unpaused.Annotations == nil {
		unpaused.Annotations = map[string]string{}
	}
	unpaused.Annotations[v1.PauseReasonAnnotation] = v1.PauseReason
	err := writer.Patch(ctx, unpaused, client.MergeFromWithOptions(d, client.MergeFromWithOptimisticLock{}), FieldOwner)
	if err != nil {
		return nil, fmt.Errorf("unpause: %w", err)
	}
	clean := unpaused.DeepCopy()
	SetUnpaused(clean)
	if err := client.IgnoreNotFound(writer.Patch(ctx, clean, client.MergeFrom(unpaused), FieldOwner)); err != nil {
		return nil, fmt.Errorf("remove annotation: %w", err)
	}
	return clean, nil
}

// RemoveFinalizer takes this controller's finalizer off a DeploymentCoordination, of which metadata are enough, and reports
// whether it was there. The caller must have unpaused what the coordination paused.
func RemoveFinalizer(ctx context.Context, writer client.Writer, c client.Object) (bool, error) {
	before := c.DeepCopyObject().(client.Object)
	if !controllerutil.RemoveFinalizer(c, v1.Finalizer) {
		return false, nil
	}
	err := writer.Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), FieldOwner)
	if err != nil {
		return false, fmt.Errorf("remove finalizer: %w", err)
	}
	return true, nil
}
