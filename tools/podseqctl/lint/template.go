package lint

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// template is what makes pods that sequences may order, or one pod by itself.
type template struct {
	kind   inventory.Kind
	object metav1.Object
	// pods are those that it makes, as far as they differ: those of a StatefulSet by their names, else one.
	pods []*corev1.Pod
	// places are the groups of each of these pods.
	places [][]sequence.Place
}

func (t *template) String() string {
	return fmt.Sprintf("%s %s/%s", t.kind, t.object.GetNamespace(), t.object.GetName())
}

// path returns the path of a field of its pods in the object, such as spec.template.metadata.labels.
func (t *template) path(field string) string {
	if t.kind == inventory.KindPod {
		return field
	}
	return "spec.template." + field
}

// isUnordered reports whether a template makes pods of a hook that no order concerns.
func (t *template) isUnordered() bool {
	return inventory.IsUnorderedHook(t.object.GetAnnotations()) || inventory.IsUnorderedHook(t.pods[0].Annotations)
}

// count returns how many pods a template makes at once. Of a DaemonSet that is known only in a cluster.
func (t *template) count() int64 {
	switch o := t.object.(type) {
	case *appsv1.Deployment:
		return int64(ptr.Deref(o.Spec.Replicas, 1))
	case *appsv1.ReplicaSet:
		return int64(ptr.Deref(o.Spec.Replicas, 1))
	case *corev1.ReplicationController:
		return int64(ptr.Deref(o.Spec.Replicas, 1))
	case *appsv1.StatefulSet:
		return int64(ptr.Deref(o.Spec.Replicas, 1))
	case *appsv1.DaemonSet:
		return int64(o.Status.DesiredNumberScheduled)
	case *batchv1.Job:
		parallelism := ptr.Deref(o.Spec.Parallelism, 1)
		if ptr.Deref(o.Spec.Suspend, false) || o.Status.CompletionTime != nil {
			return 0
		}
		return int64(min(parallelism, ptr.Deref(o.Spec.Completions, parallelism)))
	}
	return 1
}

// maxOrdinals bounds how many pods of a StatefulSet are looked at one by one.
const maxOrdinals = 256

// templates returns everything in the snapshot that makes pods by itself, and pods that nothing makes. prepare does to the pods of
// templates what happens to them when they are created.
func templates(s *snapshot.Snapshot, prepare func(pod *corev1.Pod)) []*template {
	var all []*template
	for _, kind := range inventory.WorkloadKinds {
		for _, object := range s.Workloads[kind.Kind] {
			if !makesPods(kind, object) {
				continue
			}
			spec := kind.Template(object)
			t := &template{kind: kind.Kind, object: object}
			for _, name := range podNames(object) {
				pod := podOf(object.GetNamespace(), name, spec)
				if inventory.IsUnorderedHook(object.GetAnnotations()) {
					pod.Annotations = object.GetAnnotations() // they count for the pods of a Job
				}
				prepare(pod)
				t.pods = append(t.pods, pod)
			}
			all = append(all, t)
		}
	}
	for _, pod := range s.Pods {
		if metav1.GetControllerOfNoCopy(pod) == nil {
			all = append(all, &template{kind: inventory.KindPod, object: pod, pods: []*corev1.Pod{pod}})
		}
	}
	for _, t := range all {
		for _, pod := range t.pods {
			t.places = append(t.places, s.Places(pod))
		}
	}
	return all
}

func podOf(namespace, name string, spec *corev1.PodTemplateSpec) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *spec.ObjectMeta.DeepCopy(), Spec: spec.Spec}
	pod.Namespace, pod.Name, pod.ResourceVersion = namespace, name, "1"
	if pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = corev1.DefaultSchedulerName
	}
	return pod
}

// podNames returns the names of the pods that a workload makes, if they are known, else one that is none.
func podNames(object metav1.Object) []string {
	set, ok := object.(*appsv1.StatefulSet)
	if !ok {
		return []string{" "}
	}
	first := 0
	if set.Spec.Ordinals != nil {
		first = int(set.Spec.Ordinals.Start)
	}
	var names []string
	for i := range min(int(ptr.Deref(set.Spec.Replicas, 1)), maxOrdinals) {
		names = append(names, fmt.Sprintf("%s-%d", set.Name, first+i))
	}
	return names
}
