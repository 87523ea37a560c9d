package kueue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
)

// queueLabel puts a Job into a LocalQueue.
const queueLabel = "kueue.x-k8s.io/queue-name"

// common are the objects that queues of all stories need.
const common = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: sequence}
spec: {controllerName: podsequence.example.com/sequence}
`

// story is a namespace with a queue named queue, in which two CPUs can be had.
type story struct {
	*cluster.Story
	queue string // the ClusterQueue
}

func newStory(t *testing.T, strategy string, checks ...string) *story {
	t.Parallel()
	s := &story{Story: cluster.NewStory(t, shared.Cluster)}
	s.queue = s.addQueue("queue", strategy)
	s.setChecks(checks...)
	t.Cleanup(func() {
		verdict := shared.referee.VerdictFor(s.Ctx, s.Namespace)
		assert.Empty(t, verdict.Violations)
		assert.Empty(t, verdict.Incomplete)
	})
	return s
}

// addQueue adds a queue without checks. It returns the name of its ClusterQueue.
func (s *story) addQueue(name, strategy string) string {
	s.Helper()
	queue := s.Namespace + "-" + name
	s.apply(fmt.Sprintf(`
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %[2]s}
spec:
  namespaceSelector: {}
  queueingStrategy: %[3]s
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 2}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: %[1]s}
spec: {clusterQueue: %[2]s}
`, name, queue, strategy))
	return queue
}

// apply creates objects, in the story's namespace if they have one.
func (s *story) apply(manifests string) {
	s.Helper()
	decoder := yaml.NewYAMLToJSONDecoder(strings.NewReader(manifests))
	for {
		object := &unstructured.Unstructured{}
		if decoder.Decode(&object.Object) != nil {
			return
		}
		switch object.GetKind() {
		case "ClusterQueue":
			s.Cleanup(func() { _ = s.API.Delete(s.Ctx, object) })
		default:
			object.SetNamespace(s.Namespace)
		}
		s.AwaitCreated(object) // Kueue may be busy
	}
}

// setChecks sets the checks of the queue.
func (s *story) setChecks(names ...string) {
	s.Helper()
	var strategy any // none
	if len(names) > 0 {
		checks := make([]any, 0, len(names))
		for _, name := range names {
			checks = append(checks, map[string]any{"name": name})
		}
		strategy = map[string]any{"admissionChecks": checks}
	}
	s.Patch(s.object("ClusterQueue", s.queue), map[string]any{"spec": map[string]any{"admissionChecksStrategy": strategy}})
}

func (s *story) object(kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	object.SetKind(kind)
	object.SetName(name)
	if kind != "ClusterQueue" {
		object.SetNamespace(s.Namespace)
	}
	return object
}

// job creates a Job of one pod that takes the whole quota.
func (s *story) job(name string, edits ...func(*batchv1.Job)) *batchv1.Job {
	s.Helper()
	job := &batchv1.Job{ObjectMeta: s.Meta(name)}
	job.Labels = map[string]string{queueLabel: "queue"}
	job.Spec.Suspend = new(true)
	job.Spec.Template.Labels = map[string]string{"app": name}
	job.Spec.Template.Spec = corev1.PodSpec{
		SchedulerName: "podsequence-scheduler", RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "main", Image: "registry.k8s.io/pause",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}},
		}},
	}
	for _, edit := range edits {
		edit(job)
	}
	s.Create(job)
	return job
}

// workload is what Kueue made of a Job, or the Workload of this name.
type workload struct {
	Name       string
	Conditions []metav1.Condition
	Checks     []check
	Requeues   int64
}

type check struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Message string `json:"message"`
}

func (w *workload) is(condition string) bool {
	return meta.IsStatusConditionTrue(w.Conditions, condition)
}

func (w *workload) condition(name string) metav1.Condition {
	if c := meta.FindStatusCondition(w.Conditions, name); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// check is the state of the only check, and what it says; empty if there is none.
func (w *workload) check() check {
	if len(w.Checks) == 1 {
		return w.Checks[0]
	}
	return check{}
}

// workload returns the Workload whose name is, or begins with, that of a Job; nil if there is none.
func (s *story) workload(job string) *workload {
	s.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	list.SetKind("WorkloadList")
	require.NoError(s, s.API.List(s.Ctx, list, client.InNamespace(s.Namespace)))
	for i := range list.Items {
		object := &list.Items[i]
		owner := metav1.GetControllerOf(object)
		if object.GetName() != job && (owner == nil || owner.Name != job) {
			continue
		}
		var read struct {
			Status struct {
				Conditions      []metav1.Condition `json:"conditions"`
				AdmissionChecks []check            `json:"admissionChecks"`
				RequeueState    struct {
					Count int64 `json:"count"`
				} `json:"requeueState"`
			} `json:"status"`
		}
		require.NoError(s, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read))
		return &workload{object.GetName(), read.Status.Conditions, read.Status.AdmissionChecks, read.Status.RequeueState.Count}
	}
	return nil
}

// awaitWorkload waits until something is true of the Workload of a Job, and returns it.
func (s *story) awaitWorkload(job, what string, is func(*workload) bool) (w *workload) {
	s.Helper()
	s.Await(fmt.Sprintf("Workload of %s to be %s", job, what), func() bool {
		w = s.workload(job)
		return w != nil && is(w)
	})
	return w
}

func (s *story) awaitComplete(job string) {
	s.Helper()
	s.Await("Job "+job+" to complete", func() bool {
		for _, c := range cluster.Get(s.Story, &batchv1.Job{}, job).Status.Conditions {
			if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
				return true
			}
		}
		return false
	})
}

func admitted(w *workload) bool { return w.is("Admitted") }
func hasQuota(w *workload) bool { return w.is("QuotaReserved") }
func checkSays(state string) func(*workload) bool {
	return func(w *workload) bool { return w.check().State == state }
}
