package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the API group and version of this package.
	GroupVersion = schema.GroupVersion{Group: "apps.containerinfra.nl", Version: "v1"}

	// DeploymentCoordinationKind is the kind served under DeploymentCoordinationResource.
	DeploymentCoordinationKind = GroupVersion.WithKind("DeploymentCoordination")

	// DeploymentCoordinationResource is what clients list and watch.
	DeploymentCoordinationResource = GroupVersion.WithResource("deploymentcoordinations")

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme makes a scheme know the kinds of this package.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &DeploymentCoordination{}, &DeploymentCoordinationList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
