package podgroup

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/internal/podgroups"
)

// facts are all that matters of a pod.
type facts struct {
	uid        types.UID            // another pod may have its name when a watch begins again
	group      types.NamespacedName // its name is empty if the pod is in none
	terminated bool                 // or about to be
	phase      corev1.PodPhase
	owner      types.UID
	size       string // the annotation
	hasSize    bool
	podGroups  string
	labelled   bool
	moved      bool
}

func (o Options) factsOf(pod *corev1.Pod) facts {
	f := facts{
		uid:        pod.UID,
		group:      o.groupOf(pod),
		terminated: pod.DeletionTimestamp != nil,
		phase:      pod.Status.Phase,
		podGroups:  fmt.Sprint(podgroups.Of(pod)),
		labelled:   o.isLabelled(pod),
		moved:      o.isMoved(pod),
	}
	f.size, f.hasSize = pod.Annotations[SizeAnnotation]
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		f.owner = owner.UID
	}
	return f
}

// differs reports whether there may be something to do. That a pod got its label, which we have to thank for, is no cause.
func (f facts) differs(before facts) bool {
	if f.labelled {
		before.labelled = true
	}
	return f != before
}

// groupOf returns the group of a pod. An empty label names no group.
func (o Options) groupOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[o.NameLabel]}
}

func (o Options) isLabelled(pod *corev1.Pod) bool { return pod.Labels[o.ReadyLabel] == ReadyValue }

// isMoved reports whether a pod has its label from us, and for another group than it is in. A label that somebody else gave is
// taken at its word.
func (o Options) isMoved(pod *corev1.Pod) bool {
	if !o.isLabelled(pod) {
		return false
	}
	for i := range pod.ManagedFields {
		if group, ok := o.labelledFor(&pod.ManagedFields[i]); ok {
			return group != pod.Labels[o.NameLabel]
		}
	}
	return false
}

// labelledFor returns the group for which we gave the label, if we did. The API server keeps it with the pod: it is a part of
// the name under which we write.
func (o Options) labelledFor(entry *metav1.ManagedFieldsEntry) (group string, ok bool) {
	group, ok = strings.CutPrefix(entry.Manager, fieldOwner+"/")
	stripped := entry.FieldsV1 == nil
	return group, ok && (stripped || bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:`+o.ReadyLabel+`"`)))
}

// runs reports whether a pod is as it should be.
func runs(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodSucceeded
}

// strip drops what does not matter of a pod, before it is cached.
func (o Options) strip(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil // the mark of a deletion that was missed
	}
	stripped := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
			Labels:      only(pod.Labels, o.NameLabel, o.ReadyLabel, podgroups.CoschedulingLabel),
			Annotations: only(pod.Annotations, SizeAnnotation),
		},
		Spec:   corev1.PodSpec{SchedulingGroup: pod.Spec.SchedulingGroup},
		Status: corev1.PodStatus{Phase: pod.Status.Phase},
	}
	for i := range pod.ManagedFields {
		if _, ok := o.labelledFor(&pod.ManagedFields[i]); ok {
			stripped.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: pod.ManagedFields[i].Manager}}
		}
	}
	if text, ok := stripped.Annotations[SizeAnnotation]; ok && len(text) > maxText {
		stripped.Annotations[SizeAnnotation] = shorten(text)
		if n := sizeOf(text); n > 0 { // with many zeros before it
			stripped.Annotations[SizeAnnotation] = strconv.Itoa(n)
		}
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		stripped.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return stripped, nil
}

func only(all map[string]string, keys ...string) map[string]string {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(key, _ string) bool { return !slices.Contains(keys, key) })
	if len(some) == 0 {
		return nil
	}
	return some
}
