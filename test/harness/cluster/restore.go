package cluster

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RestoreLabel is on every object that Velero restores.
const RestoreLabel = "velero.io/restore-name"

// backedUp are the resources in a backup, in the order in which Velero 1.17 restores them by default: pods and ReplicaSets first, and then
// what it does not know, in alphabetical order.
var backedUp = []struct {
	resource string
	kind     schema.GroupVersionKind
}{
	{"pods", schema.GroupVersionKind{Version: "v1", Kind: "Pod"}},
	{"replicasets.apps", schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}},
	{"deployments.apps", schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}},
	{"jobs.batch", schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}},
	{PodSequences, schema.GroupVersionKind{Group: "scheduling.example.com", Version: "v1alpha1", Kind: "PodSequence"}},
	{SequentialJobs, schema.GroupVersionKind{Group: "batch.example.com", Version: "v1alpha1", Kind: "SequentialJob"}},
	{"statefulsets.apps", schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}},
}

// Resources of ours that a restore may treat differently.
const (
	PodSequences   = "podsequences.scheduling.example.com"
	SequentialJobs = "sequentialjobs.batch.example.com"
)

// Backup holds the objects of a namespace by resource, as the API server returned them.
type Backup map[string][]unstructured.Unstructured

// BackUp reads the namespace as a backup tool does.
func (s *Story) BackUp() Backup {
	s.Helper()
	backup := Backup{}
	for _, each := range backedUp {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(each.kind)
		require.NoError(s, s.API.List(s.Ctx, list, client.InNamespace(s.Namespace)))
		backup[each.resource] = list.Items
	}
	return backup
}

// Restore says how a backup is restored.
type Restore struct {
	// First are resources that are restored before pods.
	First []string
	// WithStatus are the resources whose status is restored, too.
	WithStatus []string
	// KeepNodes leaves spec.nodeName of pods as it was. Velero removes it, other tools may not.
	KeepNodes bool
	// Modify changes each object before it is created.
	Modify func(resource string, object *unstructured.Unstructured)
	// Before is called before the objects of a resource are created.
	Before map[string]func()
}

// Restore creates the objects of a backup in the namespace as Velero does: with new UIDs, without owners, and without status. It leaves out
// pods and Jobs that have ended, and objects that exist.
func (s *Story) Restore(backup Backup, how Restore) {
	s.Helper()
	resources := slices.Clone(how.First)
	for _, each := range backedUp {
		if !slices.Contains(how.First, each.resource) {
			resources = append(resources, each.resource)
		}
	}
	for _, resource := range resources {
		if before := how.Before[resource]; before != nil {
			before()
		}
		if resource == "replicasets.apps" {
			s.awaitPodsSeen()
		}
		for _, item := range backup[resource] {
			if hasEnded(resource, &item) {
				continue
			}
			object, status := s.asNew(resource, &item, how), item.Object["status"]
			err := s.API.Create(s.Ctx, object)
			if apierrors.IsAlreadyExists(err) {
				continue
			}
			require.NoError(s, err, "restore %s %s", resource, object.GetName())
			if slices.Contains(how.WithStatus, resource) {
				s.restoreStatus(object, status)
			}
		}
	}
}

// awaitPodsSeen waits until the controllers of workloads have seen all pods so far. They would create pods beside those that were restored.
func (s *Story) awaitPodsSeen() {
	s.Helper()
	labels := map[string]string{"seen": "by-controllers"}
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/app:1"}}},
	}
	last := &corev1.Pod{ObjectMeta: s.Meta("last-of-restored"), Spec: pod.Spec}
	last.Labels = labels
	adopts := &appsv1.ReplicaSet{ObjectMeta: s.Meta("adopts-last-of-restored"), Spec: appsv1.ReplicaSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod,
	}}
	s.Create(last, adopts)
	s.Await("the last of the restored pods to be adopted", func() bool {
		err := s.API.Get(s.Ctx, client.ObjectKeyFromObject(last), last)
		return apierrors.IsNotFound(err) || err == nil && metav1.GetControllerOf(last) != nil // one too many is deleted
	})
	require.NoError(s, s.API.Delete(s.Ctx, adopts, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	s.AwaitGone(adopts)
	s.AwaitGone(last)
}

// hasEnded reports whether Velero leaves an object out for that reason.
func hasEnded(resource string, object *unstructured.Unstructured) bool {
	switch resource {
	case "pods":
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		return phase == string(corev1.PodSucceeded) || phase == string(corev1.PodFailed)
	case "jobs.batch":
		_, found, _ := unstructured.NestedString(object.Object, "status", "completionTime")
		return found
	}
	return false
}

// asNew returns what is created in place of an object of a backup.
func (s *Story) asNew(resource string, item *unstructured.Unstructured, how Restore) *unstructured.Unstructured {
	object := item.DeepCopy()
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "generateName", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"ownerReferences", "managedFields",
	} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	object.SetNamespace(s.Namespace)
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["velero.io/backup-name"], labels[RestoreLabel] = "monday", "tuesday"
	object.SetLabels(labels)

	switch resource {
	case "pods":
		unstructured.RemoveNestedField(object.Object, "spec", "priority")
		if !how.KeepNodes {
			unstructured.RemoveNestedField(object.Object, "spec", "nodeName")
		}
	case "jobs.batch":
		for _, path := range [][]string{{"spec", "selector", "matchLabels"}, {"spec", "template", "metadata", "labels"}} {
			of, _, _ := unstructured.NestedStringMap(object.Object, path...)
			for key := range of {
				if strings.HasSuffix(key, "controller-uid") {
					delete(of, key)
				}
			}
			require.NoError(s, unstructured.SetNestedStringMap(object.Object, of, path...))
		}
	}
	if how.Modify != nil {
		how.Modify(resource, object)
	}
	return object
}

// restoreStatus replaces the status of an object that was just created, whatever was written to it meanwhile.
func (s *Story) restoreStatus(object *unstructured.Unstructured, status any) {
	s.Helper()
	require.NoError(s, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := s.API.Get(s.Ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		object.Object["status"] = status
		return s.API.Status().Update(s.Ctx, object)
	}))
}
