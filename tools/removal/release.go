package removal

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/takeover"
	"example.com/podsequence/pkg/controllers/deploymentcoordination/handback"
)

// mostPasses is how often what is released may be taken hold of again before we say that somebody does it.
const mostPasses = 5

var coordinationKind = appsapi.GroupVersion.WithKind("DeploymentCoordination")

// releaseAll releases what DeploymentCoordinations hold until nothing is held any more. What holds things again meanwhile
// may be an API server that does not know yet that the policy is gone, and else is a controller that still runs.
func (r *Remover) releaseAll(ctx context.Context) error {
	for range mostPasses {
		released, err := r.release(ctx)
		if err != nil || released == 0 {
			return err
		}
	}
	return errors.New("a podsequence-controller still runs, and pauses Deployments again as soon as they are unpaused: " +
		"stop it (such as that of `make run`), and run this again")
}

// release unpauses every Deployment that our controller paused, then takes our finalizer off every DeploymentCoordination,
// and that of the controller before us off every PodSequence.
// What owners paused stays paused. It goes on after a failure, but a coordination keeps its finalizer while a Deployment of
// its namespace is still paused. It returns how much it released.
func (r *Remover) release(ctx context.Context) (int, error) {
	released, failed := 0, sets.New[string]()
	var errs []error
	fail := func(namespace string, err error) error {
		failed.Insert(namespace)
		errs = append(errs, err)
		return ctx.Err() // a failure of one is no reason to leave the others alone
	}
	err := r.eachMetadata(ctx, appsv1.SchemeGroupVersion.WithKind(deploymentKind), func(d *metav1.PartialObjectMetadata) error {
		if handback.PausedBy(d) == "" || d.DeletionTimestamp != nil {
			return nil
		}
		done, err := r.unpause(ctx, client.ObjectKeyFromObject(d))
		if err != nil {
			return fail(d.Namespace, err)
		}
		if done {
			released++
			r.did("unpaused", deploymentKind, d)
		}
		return nil
	})
	if err != nil {
		return released, errors.Join(append(errs, err)...)
	}
	err = r.eachMetadata(ctx, coordinationKind, func(c *metav1.PartialObjectMetadata) error {
		if failed.Has(c.Namespace) {
			return nil
		}
		done, err := r.removeFinalizer(ctx, c, func(found client.Object) (bool, error) {
			return handback.RemoveFinalizer(ctx, r.client, found)
		})
		if err != nil {
			return fail(c.Namespace, err)
		}
		if done {
			released++
		}
		return nil
	})
	return released, errors.Join(append(errs, err, r.releaseSequences(ctx))...)
}

// releaseSequences takes the finalizer of the controller that PodSequence replaced off every PodSequence: once podsequence-controller is
// gone, nobody else would. It goes on after a failure.
func (r *Remover) releaseSequences(ctx context.Context) error {
	var errs []error
	err := r.eachMetadata(ctx, v1alpha1.PodSequenceKind, func(s *metav1.PartialObjectMetadata) error {
		_, err := r.removeFinalizer(ctx, s, func(found client.Object) (bool, error) {
			return takeover.RemoveFinalizer(ctx, r.client, found, v1alpha1.FormerFinalizer)
		})
		errs = append(errs, err)
		return ctx.Err()
	})
	return errors.Join(append(errs, err)...)
}

// unpause reports whether there was something to unpause. The controller, if it runs, may do the same at the same time.
func (r *Remover) unpause(ctx context.Context, key client.ObjectKey) (done bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		d := &appsv1.Deployment{}
		done = false
		if err := r.client.Get(ctx, key, d); err != nil {
			return client.IgnoreNotFound(err)
		}
		if handback.PausedBy(d) == "" {
			return nil
		}
		done = true
		_, err := handback.Unpause(ctx, r.client, d)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("unpause Deployment %s: %w", key, err)
	}
	return done, nil
}

// removeFinalizer reports whether remove found a finalizer to remove. The controller, if it runs, may do the same at the same time.
func (r *Remover) removeFinalizer(
	ctx context.Context, object *metav1.PartialObjectMetadata, remove func(client.Object) (bool, error),
) (done bool, err error) {
	key, kind := client.ObjectKeyFromObject(object), object.GroupVersionKind()
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		found := metadataOf(kind)
		done = false
		if err := r.client.Get(ctx, key, found); err != nil {
			return client.IgnoreNotFound(err)
		}
		var err error
		done, err = remove(found)
		return client.IgnoreNotFound(err)
	})
	if err != nil {
		return false, fmt.Errorf("remove finalizer of %s %s: %w", kind.Kind, key, err)
	}
	if done {
		r.did("released", kind.Kind, object)
	}
	return done, nil
}
