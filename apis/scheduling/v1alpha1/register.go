package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the API group and version of this package.
	GroupVersion = schema.GroupVersion{Group: "scheduling.example.com", Version: "v1alpha1"}

	// PodSequenceKind is the kind served under PodSequenceResource.
	PodSequenceKind = GroupVersion.WithKind("PodSequence")

	// PodSequenceResource is what clients list and watch.
	PodSequenceResource = GroupVersion.WithResource("podsequences")

	// ClusterPodSequenceKind is the kind served under ClusterPodSequenceResource.
	ClusterPodSequenceKind = GroupVersion.WithKind("ClusterPodSequence")

	// ClusterPodSequenceResource is what clients list and watch.
	ClusterPodSequenceResource = GroupVersion.WithResource("clusterpodsequences")

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme makes a scheme know the kinds of this package.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &PodSequence{}, &PodSequenceList{}, &ClusterPodSequence{}, &ClusterPodSequenceList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
