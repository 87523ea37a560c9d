package podgroup

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
)

// A quota keeps the last pod from being created: all there are run, and that must not be enough.
func TestSizeByWorkload(t *testing.T) {
	t.Parallel()
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{nameLabel: "gang"}}
	for name, workloads := range map[string]func(s *story) []client.Object{
		"a Job without completions": func(s *story) []client.Object {
			return []client.Object{s.job("work", 4, nil)}
		},
		"a Job with more completions than run at a time": func(s *story) []client.Object {
			return []client.Object{s.job("work", 4, new(int32(9)))}
		},
		"a Job with fewer completions than may run at a time": func(s *story) []client.Object {
			return []client.Object{s.job("work", 9, new(int32(4)))}
		},
		"an indexed Job": func(s *story) []client.Object {
			job := s.job("work", 4, new(int32(4)))
			job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
			return []client.Object{job}
		},
		"two Jobs": func(s *story) []client.Object {
			driver, workers := s.job("driver", 1, nil), s.job("workers", 3, nil)
			driver.Spec.Suspend, workers.Spec.Suspend = new(true), new(true) // until both are there
			return []client.Object{driver, workers}
		},
		"a StatefulSet": func(s *story) []client.Object {
			return []client.Object{&appsv1.StatefulSet{ObjectMeta: s.Meta("work"), Spec: appsv1.StatefulSetSpec{
				Replicas: new(int32(4)), PodManagementPolicy: appsv1.ParallelPodManagement,
				Selector: selector, Template: template("gang"),
			}}}
		},
		"a Deployment": func(s *story) []client.Object {
			return []client.Object{&appsv1.Deployment{ObjectMeta: s.Meta("work"), Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(4)), Selector: selector, Template: template("gang"),
			}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.expect("gang", 4)
			quota := s.quota(3)
			created := workloads(s)
			s.Create(created...)
			for _, workload := range created {
				if job, ok := workload.(*batchv1.Job); ok {
					s.resume(job)
				}
			}
			s.awaitRunning("gang", 3)
			s.expectNoLabels("gang")
			s.liftQuota(quota, 4, created...)
			s.awaitLabels("gang", 4)
			assert.Empty(t, s.events("GroupSizeConflict"))
		})
	}
}

// job is a Job of the group "gang" whose pods run until the test ends them.
func (s *story) job(name string, parallelism int32, completions *int32) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: s.Meta(name)}
	job.Spec = batchv1.JobSpec{Parallelism: &parallelism, Completions: completions, Template: template("gang", annotation(cluster.CompleteAfter, "never"))}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return job
}

// resume starts a Job that was created suspended; it does nothing to any other.
func (s *story) resume(job *batchv1.Job) {
	s.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":false}}`))
	require.NoError(s, s.API.Patch(s.Ctx, job, patch))
}

// quota bounds the pods of the namespace, from when it returns.
func (s *story) quota(pods int64) *corev1.ResourceQuota {
	s.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: s.Meta("pods")}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI)}
	s.Create(quota)
	s.Await("the quota to be known", func() bool {
		require.NoError(s, s.API.Get(s.Ctx, client.ObjectKeyFromObject(quota), quota))
		return len(quota.Status.Hard) > 0
	})
	return quota
}

// liftQuota deletes the quota, and returns when the group has this many pods. Controllers that were refused a pod wait twice as
// long each time: a change of the workload makes them try again at once.
func (s *story) liftQuota(quota *corev1.ResourceQuota, pods int, workloads ...client.Object) {
	s.Helper()
	s.Delete(quota)
	changes := 0
	s.Await("the pods that the quota kept from being created", func() bool {
		changes++
		for _, workload := range workloads {
			s.Annotate(workload, "example.com/change", strconv.Itoa(changes))
		}
		return len(s.group("gang")) == pods
	})
}

// A Job that has no pod yet is one of the group by its template.
func TestAJobWhosePodsAreYetToBeCreated(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.expect("gang", 3)
	workers := s.job("workers", 2, nil)
	workers.Spec.Suspend = new(true)
	s.Create(workers, s.job("driver", 1, nil))
	s.awaitRunning("gang", 1)
	s.expectNoLabels("gang")
	s.resume(workers)
	s.awaitLabels("gang", 3)
}

// More pods of one Job do not make up for those that another has yet to create.
func TestEachJobIsCountedByItself(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	many := s.job("many", 1, new(int32(4)))
	many.Spec.Template.Annotations[cluster.CompleteAfter] = "0s"
	few := s.job("few", 2, nil)
	few.Spec.Suspend = new(true)
	s.Create(few, many)
	s.Await("one to complete", func() bool {
		require.NoError(t, s.API.Get(s.Ctx, s.Key("many"), many))
		return many.Status.CompletionTime != nil
	})
	require.Len(t, s.group("gang"), 4)
	s.expectNoLabels("gang")
	s.resume(few)
	s.awaitLabels("gang", 6)
}

// A pod that fails is replaced by its Job: the replacement is what counts.
func TestAPodOfAJobFails(t *testing.T) {
	t.Parallel() // a Job takes ten seconds to replace it
	s := newStory(t)
	s.expect("gang", 2)
	s.Create(s.job("work", 2, nil))
	job := &batchv1.Job{}
	require.NoError(t, s.API.Get(s.Ctx, s.Key("work"), job))
	s.awaitLabels("gang", 2)
	failed := s.group("gang")[0].Name
	s.Patch(s.Pod(failed), fmt.Sprintf(`{"metadata":{"annotations":{%q:"0s"}}}`, cluster.FailAfter))
	s.awaitPhase(corev1.PodFailed, failed)
	s.awaitLabels("gang", 3) // the two that run, and the one that failed with its label
}

func TestThePodsThereAreAreTheGroupIfNothingSaysItsSize(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Create(s.pod("pod-0", "gang", held), s.pod("pod-1", "gang"))
	s.awaitPhase(corev1.PodRunning, "pod-1")
	s.expectNoLabels("gang")
	s.releasePods("pod-0")
	s.awaitLabels("gang", 2)
}
