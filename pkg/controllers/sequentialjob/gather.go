package sequentialjob

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// ownerIndex finds the Jobs that an object controls by its UID.
const ownerIndex = "metadata.controllerUID"

func indexOwner(object client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil && isOurKind(owner) {
		return []string{string(owner.UID)}
	}
	return nil
}

// isOurKind reports whether an owner is a SequentialJob.
func isOurKind(owner *metav1.OwnerReference) bool {
	return owner.APIVersion == v1alpha1.GroupVersion.String() && owner.Kind == v1alpha1.SequentialJobKind.Kind
}

func newUnstructured() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.SequentialJobKind)
	return object
}

// decode makes a SequentialJob of what is stored. One that cannot be decoded, because it was stored when the definition
// allowed more, keeps its name, its status and its steps, as far as they can be; the watch that brought it carries on.
func decode(stored *unstructured.Unstructured) (object *v1alpha1.SequentialJob, unreadable string) {
	convert := runtime.DefaultUnstructuredConverter.FromUnstructured
	object = &v1alpha1.SequentialJob{}
	err := convert(stored.Object, object)
	if err == nil {
		return object, ""
	}
	// Metadata is the API server's, so it can be decoded; a status that cannot is worked out anew.
	readable := map[string]any{"metadata": stored.Object["metadata"]}
	try := func(field string, value any) {
		readable[field] = value
		if convert(readable, &v1alpha1.SequentialJob{}) != nil {
			delete(readable, field)
		}
	}
	try("status", stored.Object["status"])
	if containers, ok, _ := unstructured.NestedFieldNoCopy(stored.Object, "spec", "containers"); ok {
		try("spec", map[string]any{"containers": containers})
	}
	object = &v1alpha1.SequentialJob{}
	_ = convert(readable, object) // it was tried
	return object, fmt.Sprintf("the object cannot be decoded: %v", err)
}
