package snapshot

import (
	"context"
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// readPodGroups reads the PodGroups of both kinds that pods of the namespace name. Neither kind need be installed.
func (g *gatherer) readPodGroups(ctx context.Context, namespace string) error {
	named := map[podgroups.Kind]bool{}
	for _, pod := range g.Pods {
		for _, reference := range podgroups.Of(pod) {
			named[reference.Kind] = true
		}
	}
	for kind, resource := range podGroupResources {
		if !named[kind] {
			continue
		}
		list, err := g.dynamic.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case apierrors.IsForbidden(err):
			g.unread("you may not read PodGroups of namespace %s: how many pods they need is not known", namespace)
			continue
		case err != nil:
			return fmt.Errorf("list PodGroups of namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			g.PodGroups = append(g.PodGroups, NewPodGroup(kind, &list.Items[i]))
		}
	}
	return nil
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
