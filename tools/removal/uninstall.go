package removal

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Uninstall removes the kinds that the manifests define, and with them their objects. It needs no controller: what
// DeploymentCoordinations paused is unpaused first, and SequentialJobs go before their kind does, so that the garbage
// collector still knows whose their Jobs are.
func (r *Remover) Uninstall(ctx context.Context, manifests []*unstructured.Unstructured) error {
	definitions := ofKinds(manifests, definitionKind)
	if len(definitions) == 0 {
		return fmt.Errorf("the manifests have no %s: give those that were applied to install PodSequence", definitionKind)
	}
	if err := r.announce(ctx, definitions); err != nil {
		return err
	}
	if err := r.deleteObjects(ctx, coordinationKind, metav1.DeletePropagationBackground); err != nil {
		return err
	}
	if err := r.releaseAll(ctx); err != nil {
		return err
	}
	if err := r.awaitGone(ctx, coordinationKind, client.ObjectKey{}, nil); err != nil {
		return err
	}
	if err := r.deleteObjects(ctx, batchapi.SequentialJobKind, metav1.DeletePropagationForeground); err != nil {
		return err
	}
	if err := r.awaitGone(ctx, batchapi.SequentialJobKind, client.ObjectKey{}, r.garbageCollection); err != nil {
		return err
	}
	if err := r.deleteDefinitions(ctx, definitions); err != nil {
		return err
	}
	// A controller that still runs may have paused one while it did not know yet that its coordination is gone.
	if err := r.releaseAll(ctx); err != nil {
		return err
	}
	if r.changes == 0 {
		r.say("Nothing to do: none of the kinds is installed, and no Deployment is paused by PodSequence.")
	}
	names, err := r.unscheduledNames(ctx)
	if err != nil {
		return err
	}
	return r.reportPods(ctx, names)
}

// announce says what goes with the kinds.
func (r *Remover) announce(ctx context.Context, definitions []*unstructured.Unstructured) error {
	for _, definition := range definitions {
		count := 0
		kind := definedKind(definition)
		err := r.eachMetadata(ctx, kind, func(*metav1.PartialObjectMetadata) error {
			count++
			return nil
		})
		if err != nil {
			return err
		}
		if count > 0 {
			r.say("%s with the kind.", plural(count, kind.Kind+" goes", kind.Kind+"s go"))
		}
	}
	return r.reportStepsThatEnd(ctx)
}

// definedKind is a kind that a definition defines, in one of the versions in which it is served.
func definedKind(definition *unstructured.Unstructured) schema.GroupVersionKind {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	found := schema.GroupVersionKind{Group: group, Kind: kind}
	for _, version := range versions {
		fields, _ := version.(map[string]any)
		if served, _ := fields["served"].(bool); served {
			found.Version, _ = fields["name"].(string)
		}
	}
	return found
}

func (r *Remover) deleteObjects(ctx context.Context, kind schema.GroupVersionKind, policy metav1.DeletionPropagation) error {
	return r.eachMetadata(ctx, kind, func(object *metav1.PartialObjectMetadata) error {
		_, err := r.delete(ctx, object, policy)
		return err
	})
}

func (r *Remover) garbageCollection(context.Context) string {
	return "the garbage collector of kube-controller-manager has not deleted their Jobs yet; it learns of a new kind within half a minute"
}

// deleteDefinitions returns when the kinds are gone. Objects that were created since the others were deleted go with them.
func (r *Remover) deleteDefinitions(ctx context.Context, definitions []*unstructured.Unstructured) error {
	for _, definition := range definitions {
		exists, err := r.delete(ctx, definition, metav1.DeletePropagationBackground)
		if err != nil {
			return err
		}
		if !exists {
			continue
		}
		// From now on nobody creates any.
		switch definedKind(definition).GroupKind() {
		case coordinationKind.GroupKind(), v1alpha1.PodSequenceKind.GroupKind():
			if err := r.releaseAll(ctx); err != nil {
				return err
			}
		}
	}
	for _, definition := range definitions {
		key := client.ObjectKeyFromObject(definition)
		err := r.awaitGone(ctx, definition.GroupVersionKind(), key, func(ctx context.Context) string {
			_, left := r.remaining(ctx, definedKind(definition), client.ObjectKey{}, nil)
			return "objects that remain: " + strings.TrimSpace(left)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
