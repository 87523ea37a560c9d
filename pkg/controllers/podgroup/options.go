package podgroup

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/internal/podgroups"
)

const (
	// DefaultNameLabel is the label whose value is the name of the group that a pod belongs to.
	DefaultNameLabel = "podgroup.jhwagner.github.io/name"
	// DefaultReadyLabel is the label that pods get when all of their group run.
	DefaultReadyLabel = "podgroup.jhwagner.github.io/ready"
	// ReadyValue is the value of that label.
	ReadyValue = "true"
	// SizeAnnotation says on a pod how many pods its group has: a whole number, at least 1.
	SizeAnnotation = "podgroup.jhwagner.github.io/size"
)

// The reasons of events, all of them warnings, on a pod of the group.
const (
	// EventInvalidSize tells of a size annotation that is no size.
	EventInvalidSize = "InvalidGroupSize"
	// EventSizeConflict tells of sources that give the group different sizes.
	EventSizeConflict = "GroupSizeConflict"
	// EventNotReady tells why pods wait for the label, once they have waited for a while or wait in vain.
	EventNotReady = "GroupNotReady"
)

// Options of the controller: the keys of two labels, which must differ.
type Options struct {
	// NameLabel names the group that a pod belongs to.
	NameLabel string
	// ReadyLabel is given to pods.
	ReadyLabel string
}

func (o Options) indexPods(ctx context.Context, indexer client.FieldIndexer) error {
	extract := func(object client.Object) []string { return notEmpty(o.groupOf(object.(*corev1.Pod)).Name) }
	if err := indexer.IndexField(ctx, &corev1.Pod{}, byGroup, extract); err != nil {
		return fmt.Errorf("index pods by their group: %w", err)
	}
	return nil
}

func (o Options) indexWorkloads(ctx context.Context, indexer client.FieldIndexer, kind client.Object) error {
	extract := func(object client.Object) []string { return notEmpty(o.templateGroup(object).Name) }
	if err := indexer.IndexField(ctx, kind, byTemplate, extract); err != nil {
		return fmt.Errorf("index %T by the group of its template: %w", kind, err)
	}
	if _, ok := kind.(*batchv1.Job); !ok {
		return nil
	}
	extract = func(object client.Object) []string { return notEmpty(string(jobSetOf(object.(*batchv1.Job)).uid)) }
	if err := indexer.IndexField(ctx, kind, byJobSet, extract); err != nil {
		return fmt.Errorf("index Jobs by their JobSet: %w", err)
	}
	return nil
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

// templateGroup is the group that the pods of a workload are in by its template.
func (o Options) templateGroup(object client.Object) types.NamespacedName {
	group := types.NamespacedName{Namespace: object.GetNamespace()}
	switch w := object.(type) {
	case *batchv1.Job:
		group.Name = w.Spec.Template.Labels[o.NameLabel]
	case *appsv1.StatefulSet:
		group.Name = w.Spec.Template.Labels[o.NameLabel]
	case *appsv1.ReplicaSet:
		group.Name = w.Spec.Template.Labels[o.NameLabel]
	}
	return group
}
