package inventory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/features"
)

// Resource is an amount of one resource: CPU in thousandths, anything else in its unit.
type Resource struct {
	Name   corev1.ResourceName
	Amount int64
}

// Resources are amounts of resources, sorted by name. They are never written to.
type Resources []Resource

// ResourcesOf returns what the list says.
func ResourcesOf(list corev1.ResourceList) Resources {
	if len(list) == 0 {
		return nil
	}
	all := make(Resources, 0, len(list))
	for name, quantity := range list {
		amount := quantity.Value()
		if name == corev1.ResourceCPU {
			amount = quantity.MilliValue()
		}
		all = append(all, Resource{name, amount})
	}
	slices.SortFunc(all, func(a, b Resource) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// List returns them in the form of the API.
func (all Resources) List() corev1.ResourceList {
	list := make(corev1.ResourceList, len(all))
	for _, r := range all {
		if r.Name == corev1.ResourceCPU {
			list[r.Name] = *apiresource.NewMilliQuantity(r.Amount, apiresource.DecimalSI)
		} else {
			list[r.Name] = *apiresource.NewQuantity(r.Amount, apiresource.DecimalSI)
		}
	}
	return list
}

// RequestsOf returns what the pod asks of its node, as the scheduler counts it. Neither that it is one pod nor what it asks for
// with an amount of zero is in there.
func RequestsOf(p *corev1.Pod) Resources {
	if len(p.Spec.Containers) == 0 && len(p.Spec.InitContainers) == 0 && p.Spec.Overhead == nil && p.Spec.Resources == nil && !isToldOf(p) {
		return nil
	}
	var requests corev1.ResourceList
	if asksAsItsContainer(p) {
		requests = p.Spec.Containers[0].Resources.Requests
	} else {
		requests = resource.PodRequests(p, resource.PodResourcesOptions{
			UseStatusResources: enabled(features.InPlacePodVerticalScaling),
			InPlacePodLevelResourcesVerticalScalingEnabled: enabled(features.InPlacePodLevelResourcesVerticalScaling),
			SkipPodLevelResources:                          !enabled(features.PodLevelResources),
			UseDRANodeAllocatableResourceClaimStatus:       enabled(features.DRANodeAllocatableResources),
		})
	}
	return slices.DeleteFunc(ResourcesOf(requests), func(r Resource) bool { return r.Amount == 0 })
}

// enabled reports whether a feature of Kubernetes is on, for which the scheduler asks in the same way (PodInfo.CalculateResource).
func enabled(feature featuregate.Feature) bool {
	return utilfeature.DefaultFeatureGate.Enabled(feature)
}

// asksAsItsContainer reports whether the pod surely asks for what its only container does, as most pods do while they are scheduled.
// Then nothing need be added up, which takes some 25,000 instructions.
func asksAsItsContainer(p *corev1.Pod) bool {
	return len(p.Spec.Containers) == 1 && len(p.Spec.InitContainers) == 0 && p.Spec.Overhead == nil && p.Spec.Resources == nil && !isToldOf(p)
}

// isToldOf reports whether the status of the pod may change what it asks for.
func isToldOf(p *corev1.Pod) bool {
	s := &p.Status
	return len(s.ContainerStatuses) > 0 || s.Resources != nil || s.AllocatedResources != nil || len(s.NodeAllocatableResourceClaimStatuses) > 0 ||
		resource.IsPodResizeInfeasible(p)
}

// Of returns the amount of one resource; 0 if it is not listed.
func (all Resources) Of(name corev1.ResourceName) int64 {
	amount, _ := all.Find(name)
	return amount
}

// Find returns the amount of one resource, and reports whether it is listed: it may be with an amount of 0.
func (all Resources) Find(name corev1.ResourceName) (amount int64, listed bool) {
	for i := range all {
		if all[i].Name == name {
			return all[i].Amount, true
		}
	}
	return 0, false
}

// Equal reports whether both list the same.
func (all Resources) Equal(other Resources) bool { return slices.Equal(all, other) }

// Plus returns the sum with as many times other.
func (all Resources) Plus(other Resources, times int64) Resources {
	sum := slices.Clone(all)
	for _, r := range other {
		i, found := slices.BinarySearchFunc(sum, r.Name, func(r Resource, name corev1.ResourceName) int { return cmp.Compare(r.Name, name) })
		if !found {
			sum = slices.Insert(sum, i, Resource{Name: r.Name})
		}
		sum[i].Amount += times * r.Amount
	}
	return slices.DeleteFunc(sum, func(r Resource) bool { return r.Amount == 0 })
}

// Key is the same for the same resources.
func (all Resources) Key() string {
	var key strings.Builder
	for _, r := range all {
		key.WriteString(string(r.Name))
		key.WriteByte('=')
		key.WriteString(strconv.FormatInt(r.Amount, 10))
		key.WriteByte(' ')
	}
	return key.String()
}
