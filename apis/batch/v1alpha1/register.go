package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the API group and version of this package.
	GroupVersion = schema.GroupVersion{Group: "batch.example.com", Version: "v1alpha1"}

	// SequentialJobKind is the kind served under SequentialJobResource.
	SequentialJobKind = GroupVersion.WithKind("SequentialJob")

	// SequentialJobResource is what clients list and watch.
	SequentialJobResource = GroupVersion.WithResource("sequentialjobs")

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme makes a scheme know the kinds of this package.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &SequentialJob{}, &SequentialJobList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
