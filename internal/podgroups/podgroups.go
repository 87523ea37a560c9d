// Package podgroups tells which PodGroups a pod belongs to, and how many pods those ask for. It knows both kinds: that of
// the Coscheduling plugin, and the one that is a part of Kubernetes. It is pure: no client, no cache, no clock.
package podgroups

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
)

// Kind is one of the two kinds that are called PodGroup.
type Kind string

const (
	// Coscheduling is the kind of the Coscheduling plugin, scheduling.x-k8s.io: a CustomResourceDefinition.
	Coscheduling Kind = "podgroups.scheduling.x-k8s.io"
	// Native is the kind of Kubernetes itself, scheduling.k8s.io: behind the feature gate GenericWorkload.
	Native Kind = "podgroups.scheduling.k8s.io"
)

// CoschedulingLabel is the label by which a pod names its Coscheduling PodGroup.
const CoschedulingLabel = coscheduling.PodGroupLabel

// Reference names a PodGroup. There may be no such object.
type Reference struct {
	Kind
	types.NamespacedName
}

// String is for messages and indexes.
func (r Reference) String() string { return fmt.Sprintf("%s %s", r.Kind, r.NamespacedName) }

// Of returns the PodGroups that a pod says it belongs to, at most one of each kind, Coscheduling's first.
func Of(pod *corev1.Pod) []Reference {
	var references []Reference
	add := func(kind Kind, name string) {
		if name != "" {
			references = append(references, Reference{kind, types.NamespacedName{Namespace: pod.Namespace, Name: name}})
		}
	}
	add(Coscheduling, pod.Labels[CoschedulingLabel])
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		add(Native, *group.PodGroupName)
	}
	return references
}

// MinMember returns how many pods a Coscheduling PodGroup asks for at least; 0 if it does not say. The object is read as it is, for its
// definition admits what the Go type cannot hold, such as the quantity 1e1.5 in minResources. In a list of that type one such object would
// hide all others.
func MinMember(group *unstructured.Unstructured) int32 { return number(group, "spec", "minMember") }

// MinCount returns how many pods a PodGroup of Kubernetes asks for at least; 0 if its policy is not to schedule a gang.
func MinCount(group *unstructured.Unstructured) int32 {
	return number(group, "spec", "schedulingPolicy", "gang", "minCount")
}

// number returns what a field says; 0 if it is not there. The API server admits only numbers.
func number(group *unstructured.Unstructured, field ...string) int32 {
	number, _, _ := unstructured.NestedInt64(group.Object, field...)
	return int32(min(max(number, 0), math.MaxInt32))
}
