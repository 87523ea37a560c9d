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

// restoration is a backup being restored.
type restoration struct {
	*Story
	how Restore
}

func (r restoration) run(backup Backup) {
	r.Helper()
	resources := slices.Clone(r.how.First)
	for _, each := range backedUp {
		if !slices.Contains(r.how.First, each.resource) {
			resources = append(resources, each.resource)
		}
	}
	for _, resource := range resources {
		if before := r.how.Before[resource]; before != nil {
			before()
		}
		if resource == "replicasets.apps" {
			r.awaitPodsSeen()
		}
		for _, item := range backup[resource] {
			if hasEnded(resource, &item) {
				continue
			}
			object, status := r.asNew(resource, &item), item.Object["status"]
			err := r.API.Create(r.Ctx, object)
			if apierrors.IsAlreadyExists(err) {
				continue
			}
			require.NoError(r, err, "restore %s %s", resource, object.GetName())
			if slices.Contains(r.how.WithStatus, resource) {
				r.restoreStatus(object, status)
			}
		}
	}
}

// awaitPodsSeen waits until the controllers of workloads have seen all pods so far. They would create pods beside those that were restored.
func (r restoration) awaitPodsSeen() {
	r.Helper()
	labels := map[string]string{"seen": "by-controllers"}
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/app:1"}}},
	}
	last := &corev1.Pod{ObjectMeta: r.Meta("last-of-restored"), Spec: pod.Spec}
	last.Labels = labels
	adopts := &appsv1.ReplicaSet{ObjectMeta: r.Meta("adopts-last-of-restored"), Spec: appsv1.ReplicaSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod,
	}}
	r.Create(last, adopts)
	r.Await("the last of the restored pods to be adopted", func() bool {
		err := r.API.Get(r.Ctx, client.ObjectKeyFromObject(last), last)
		return apierrors.IsNotFound(err) || err == nil && metav1.GetControllerOf(last) != nil // one too many is deleted
	})
	require.NoError(r, r.API.Delete(r.Ctx, adopts, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	r.AwaitGone(adopts)
	r.AwaitGone(last)
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
func (r restoration) asNew(resource string, item *unstructured.Unstructured) *unstructured.Unstructured {
	object := item.DeepCopy()
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "generateName", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"ownerReferences", "managedFields",
	} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	object.SetNamespace(r.Namespace)
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["velero.io/backup-name"], labels[RestoreLabel] = "monday", "tuesday"
	object.SetLabels(labels)

	switch resource {
	case "pods":
		unstructured.RemoveNestedField(object.Object, "spec", "priority")
		if !r.how.KeepNodes {
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
			require.NoError(r, unstructured.SetNestedStringMap(object.Object, of, path...))
		}
	}
	if r.how.Modify != nil {
		r.how.Modify(resource, object)
	}
	return object
}

// restoreStatus replaces the status of an object that was just created, whatever was written to it meanwhile.
func (r restoration) restoreStatus(object *unstructured.Unstructured, status any) {
	r.Helper()
	require.NoError(r, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := r.API.Get(r.Ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		object.Object["status"] = status
		return r.API.Status().Update(r.Ctx, object)
	}))
}
