package site

import (
	"context"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// restoreEvery is how often it is tried to restore a definition: it cannot be made again before the last of it is gone.
const restoreEvery = 200 * time.Millisecond

// definitions are those of our kinds, which worlds remove and restore.
type definitions struct {
	api     client.Client
	removed map[string]*apiextensionsv1.CustomResourceDefinition
}

// RemoveDefinition deletes the definition of a kind of ours, and with it all its objects.
func (d *definitions) RemoveDefinition(ctx context.Context, resource string) error {
	return persist(ctx, func(ctx context.Context) error {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		err := d.api.Get(ctx, client.ObjectKey{Name: resource + "." + v1alpha1.GroupVersion.Group}, definition)
		if err != nil {
			return client.IgnoreNotFound(err) // an earlier try has deleted it
		}
		if d.removed[resource] == nil {
			d.removed[resource] = &apiextensionsv1.CustomResourceDefinition{
				ObjectMeta: metav1.ObjectMeta{Name: definition.Name, Labels: definition.Labels, Annotations: definition.Annotations},
				Spec:       definition.Spec,
			}
		}
		return client.IgnoreNotFound(d.api.Delete(ctx, definition))
	})
}

// RestoreDefinition makes a definition again that was removed, and returns when there can be objects of it.
func (d *definitions) RestoreDefinition(ctx context.Context, resource string) error {
	definition := d.removed[resource]
	if definition == nil {
		return nil
	}
	err := persist(ctx, func(ctx context.Context) error {
		again := definition.DeepCopy()
		if err := d.api.Create(ctx, again); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		if err := d.api.Get(ctx, client.ObjectKeyFromObject(definition), again); err != nil {
			return err
		}
		established := slices.ContainsFunc(again.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		})
		if again.DeletionTimestamp != nil || !established {
			return fmt.Errorf("definition of %s is not established", resource)
		}
		return nil
	})
	if err == nil {
		delete(d.removed, resource)
	}
	return err
}

// RestoreDefinitions restores all that were removed.
func (d *definitions) RestoreDefinitions(ctx context.Context) error {
	for resource := range d.removed {
		if err := d.RestoreDefinition(ctx, resource); err != nil {
			return err
		}
	}
	return nil
}

// persist tries something until it works: the API server may be down.
func persist(ctx context.Context, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, restoreEvery, startTimeout, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}
