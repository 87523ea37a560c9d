package inventory

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
)

// OnePod is what a pod takes of the number of pods that a node may have.
var OnePod = Resources{{Name: corev1.ResourcePods, Amount: 1}}

// TakenBy returns what the pod takes of its node, also of the number of pods there; nothing if it has no node or has ended.
func TakenBy(p *corev1.Pod) Resources {
	if p.Spec.NodeName == "" || hasEnded(p) {
		return nil
	}
	return RequestsOf(p).Plus(OnePod, 1)
}

// TakesAsBefore reports whether a pod surely takes of its node what an earlier version of it took. It adds nothing up: most changes of a
// pod are of its conditions. Versions whose API server did not count the changes of spec may differ.
func TakesAsBefore(before, now *corev1.Pod) bool {
	return before.UID == now.UID && now.Generation != 0 && before.Generation == now.Generation &&
		before.Spec.NodeName == now.Spec.NodeName && hasEnded(before) == hasEnded(now) &&
		resource.IsPodResizeInfeasible(before) == resource.IsPodResizeInfeasible(now) &&
		areSame(before.Status.AllocatedResources, now.Status.AllocatedResources) && requestSame(before.Status.Resources, now.Status.Resources) &&
		len(before.Status.NodeAllocatableResourceClaimStatuses)+len(now.Status.NodeAllocatableResourceClaimStatuses) == 0 &&
		slices.EqualFunc(before.Status.ContainerStatuses, now.Status.ContainerStatuses, haveSameRequests) &&
		slices.EqualFunc(before.Status.InitContainerStatuses, now.Status.InitContainerStatuses, haveSameRequests)
}

func hasEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// haveSameRequests compares what a resize in place changes.
func haveSameRequests(a, b corev1.ContainerStatus) bool {
	return a.Name == b.Name && areSame(a.AllocatedResources, b.AllocatedResources) && requestSame(a.Resources, b.Resources)
}

func requestSame(a, b *corev1.ResourceRequirements) bool {
	return (a == nil) == (b == nil) && (a == nil || areSame(a.Requests, b.Requests))
}

func areSame(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(a, b apiresource.Quantity) bool { return a.Cmp(b) == 0 })
}
