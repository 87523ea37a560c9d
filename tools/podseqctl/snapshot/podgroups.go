package snapshot

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"example.com/podsequence/internal/podgroups"
)

// podGroupResources is where both kinds of PodGroup are served.
var podGroupResources = map[podgroups.Kind]schema.GroupVersionResource{
	podgroups.Coscheduling: coscheduling.SchemeGroupVersion.WithResource("podgroups"),
	podgroups.Native:       schedulingv1beta1.SchemeGroupVersion.WithResource("podgroups"),
}

// NewPodGroup reads what is stored of a PodGroup of one of the kinds.
func NewPodGroup(kind podgroups.Kind, object *unstructured.Unstructured) PodGroup {
	minimum := podgroups.MinMember
	if kind == podgroups.Native {
		minimum = podgroups.MinCount
	}
	key := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
	return PodGroup{Reference: podgroups.Reference{Kind: kind, NamespacedName: key}, Minimum: int(minimum(object))}
}
