package ordercheck

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// podFacts are what the rule asks of a pod. They never change once recorded.
type podFacts struct {
	types.NamespacedName
	uid           types.UID
	labels        labels.Set
	schedulerName string
	gates         []string
	node          string
	ready         bool
	terminating   bool
}

func factsOfPod(pod *corev1.Pod) facts {
	f := &podFacts{
		NamespacedName: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name},
		uid:            pod.UID,
		labels:         pod.Labels,
		schedulerName:  pod.Spec.SchedulerName,
		node:           pod.Spec.NodeName,
		ready:          isReady(pod),
		terminating:    pod.DeletionTimestamp != nil,
	}
	for _, gate := range pod.Spec.SchedulingGates {
		f.gates = append(f.gates, gate.Name)
	}
	return f
}

func isReady(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func (f *podFacts) says(other facts) bool {
	o, ok := other.(*podFacts)
	return ok && f.uid == o.uid && f.schedulerName == o.schedulerName && f.node == o.node &&
		f.ready == o.ready && f.terminating == o.terminating &&
		slices.Equal(f.gates, o.gates) && maps.Equal(f.labels, o.labels)
}

func (f *podFacts) as(e event) event {
	e.pod = f
	return e
}
