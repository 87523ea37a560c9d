package ordercheck

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// podFacts are what the rule asks of a pod. They never change once recorded.
type podFacts struct {
	types.NamespacedName
	stamp         time.Time
	uid           types.UID
	createdAt     time.Time // in whole seconds
	labels        labels.Set
	schedulerName string
	gates         []string
	node          string
	ready         bool // condition Ready, or succeeded
	succeeded     bool
	failed        bool
	readyAt       time.Time // when it came to be ready, in whole seconds; zero if it does not say
	marks         marks     // what else it has that a group may require
	boundAt       time.Time // when it was bound, in whole seconds; zero if it does not say
	owner         owner
	terminating   bool
	probed        bool // some container, sidecars aside, has a readiness probe
	// static reports that kubelet runs it from a file: the Node that owns it does not replace it.
	static bool
	aside  bool // its annotations say that it is a hook which is no part of the start
}

// owner is the controller of an object. None has no UID.
type owner struct {
	uid        types.UID
	apiVersion string
	kind       string
	name       string
}

func controllerOf(object metav1.Object) owner {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil {
		return owner{}
	}
	return owner{uid: ref.UID, apiVersion: ref.APIVersion, kind: ref.Kind, name: ref.Name}
}

func factsOfPod(pod *corev1.Pod) facts {
	f := &podFacts{
		NamespacedName: nameOf(pod),
		uid:            pod.UID,
		createdAt:      pod.CreationTimestamp.Time,
		labels:         pod.Labels,
		schedulerName:  pod.Spec.SchedulerName,
		node:           pod.Spec.NodeName,
		succeeded:      pod.Status.Phase == corev1.PodSucceeded,
		failed:         pod.Status.Phase == corev1.PodFailed,
		owner:          controllerOf(pod),
		terminating:    pod.DeletionTimestamp != nil,
		static:         isStatic(pod),
		aside:          isAside(pod),
	}
	if f.succeeded && isDisrupted(pod, corev1.PodReasonTerminationByKubelet) {
		f.succeeded, f.failed = false, true
	}
	for i := range pod.Spec.Containers {
		f.probed = f.probed || pod.Spec.Containers[i].ReadinessProbe != nil
	}
	for _, gate := range pod.Spec.SchedulingGates {
		f.gates = append(f.gates, gate.Name)
	}
	var stamps []time.Time
	for _, c := range pod.Status.Conditions {
		stamps = append(stamps, c.LastTransitionTime.Time)
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case corev1.PodReady:
			// A failed pod is not ready, whatever an old condition says.
			f.ready, f.readyAt = !f.failed, c.LastTransitionTime.Time
		case corev1.PodScheduled:
			f.boundAt = c.LastTransitionTime.Time
		}
	}
	f.stamp = newestStamp(pod, stamps...)
	if f.succeeded {
		f.ready, f.readyAt = true, lastFinish(pod)
	}
	f.marks = marksOf(pod, f.failed)
	return f
}

// isStatic reports whether kubelet shows with the pod what it runs from a file.
func isStatic(pod *corev1.Pod) bool {
	_, marked := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return marked && pod.Spec.NodeName != ""
}

// isDisrupted reports whether the pod was ended for a reason. A kubelet that evicts a pod leaves it in phase Succeeded if its
// containers exit 0, but nothing that it was to do is done.
func isDisrupted(pod *corev1.Pod, reason string) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return c.Reason == reason
		}
	}
	return false
}

// lastFinish is when the last container of a pod ended.
func lastFinish(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, status := range pod.Status.ContainerStatuses {
		if ended := status.State.Terminated; ended != nil {
			last = later(last, ended.FinishedAt.Time)
		}
	}
	return last
}

// has reports whether the pod has reached what a group requires of its members.
func (f *podFacts) has(reached v1alpha1.RequiredStatus) bool {
	if isMark(reached) {
		_, has := f.marks[reached]
		return has
	}
	if reached == v1alpha1.RequireComplete {
		return f.succeeded
	}
	return f.ready
}

func (f *podFacts) says(other facts) bool {
	o, ok := other.(*podFacts)
	return ok && f.uid == o.uid && f.schedulerName == o.schedulerName && f.node == o.node &&
		f.ready == o.ready && f.succeeded == o.succeeded && f.failed == o.failed && f.readyAt.Equal(o.readyAt) && f.marks.same(o.marks) &&
		f.owner == o.owner && f.terminating == o.terminating && f.aside == o.aside &&
		slices.Equal(f.gates, o.gates) && maps.Equal(f.labels, o.labels)
}

func (f *podFacts) as(e event) event {
	e.pod = f
	return e
}

func (f *podFacts) stamped() time.Time { return f.stamp }

// reachedAt is when a pod came to what is required; zero if it does not say.
func (f *podFacts) reachedAt(reached v1alpha1.RequiredStatus) time.Time {
	if isMark(reached) {
		return f.marks[reached]
	}
	return f.readyAt
}

// told is when the pod says that it came to something; no kubelet's clock makes that earlier than its creation and its binding.
func (f *podFacts) told(reached v1alpha1.RequiredStatus) time.Time {
	at := f.reachedAt(reached)
	if at.IsZero() {
		return at
	}
	return later(at, later(f.createdAt, f.boundAt))
}
