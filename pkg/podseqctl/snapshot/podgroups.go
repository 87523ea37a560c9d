package snapshot

import (
	"context"
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"example.com/podsequence/pkg/podgroups"
)

// podGroupResource is where one kind of PodGroup is served, and how it says how many pods it asks for.
type podGroupResource struct {
	name    schema.GroupVersionResource
	minimum func(*unstructured.Unstructured) (int, error)
}

// readPodGroups reads the PodGroups of both kinds that pods of the namespace name. Neither kind need be installed.
func (g *gatherer) readPodGroups(ctx context.Context, namespace string) error {
	named := map[podgroups.Kind]bool{}
	for _, pod := range g.Pods {
		for _, reference := range podgroups.Of(pod) {
			named[reference.Kind] = true
		}
	}
	for kind, resource := range map[podgroups.Kind]podGroupResource{
		podgroups.Coscheduling: {coscheduling.SchemeGroupVersion.WithResource("podgroups"), coschedulingMinimum},
		podgroups.Native:       {schedulingv1beta1.SchemeGroupVersion.WithResource("podgroups"), nativeMinimum},
	} {
		if !named[kind] {
			continue
		}
		list, err := g.dynamic.Resource(resource.name).Namespace(namespace).List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case apierrors.IsForbidden(err):
			g.unread("PodGroups of namespace %s may not be read: how many pods they ask for is not known", namespace)
			continue
		case err != nil:
			return fmt.Errorf("list PodGroups of namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			minimum, err := resource.minimum(&list.Items[i])
			if err != nil {
				g.unread("PodGroup %s/%s cannot be read: %v", namespace, list.Items[i].GetName(), err)
				continue
			}
			key := types.NamespacedName{Namespace: namespace, Name: list.Items[i].GetName()}
			g.PodGroups = append(g.PodGroups, PodGroup{Reference: podgroups.Reference{Kind: kind, NamespacedName: key}, Minimum: minimum})
		}
	}
	return nil
}

func coschedulingMinimum(object *unstructured.Unstructured) (int, error) {
	group := &coscheduling.PodGroup{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, group)
	return int(podgroups.MinMember(group)), err
}

func nativeMinimum(object *unstructured.Unstructured) (int, error) {
	group := &schedulingv1beta1.PodGroup{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, group)
	return int(podgroups.MinCount(group)), err
}
