package leaving

import (
	"bytes"
	"os"
	"slices"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/removal"
)

// awaitEverything waits until everything in testdata is in the state that its comment says.
func (s *site) awaitEverything() {
	s.Helper()
	cluster.Await(s, "the rollouts to be in the middle", func() bool {
		return slices.Equal(s.pausedDeployments(), []string{"middle-b", "middle-c", "over-b", "owned"}) && s.finalizers() == 5
	})
	cluster.Await(s, "the first steps to run", func() bool { return s.activeJobs("running-0", "suspended-0") })
	s.cluster.MustShell(s, `kubectl patch sequentialjob -n steps suspended --type=merge -p '{"spec":{"suspend":true}}'`)
	for name, phase := range map[string]string{"suspended": "Suspended", "completed": "Succeeded", "failed": "Failed"} {
		cluster.Await(s, "SequentialJob "+name+" to be "+phase, func() bool {
			found := &batchapi.SequentialJob{}
			require.NoError(s, s.cluster.API.Get(s.Context(), types.NamespacedName{Namespace: "steps", Name: name}, found))
			return string(found.Status.Phase) == phase
		})
	}
	cluster.Await(s, "the group's label", func() bool { return s.pod("steps", "member").Labels["podgroup.jhwagner.github.io/ready"] == "true" })
	cluster.Await(s, "the database to run", func() bool { return s.pod("shop", "db").Status.Phase == corev1.PodRunning })
}

func (s *site) pod(namespace, name string) *corev1.Pod {
	s.Helper()
	pod := &corev1.Pod{}
	require.NoError(s, s.cluster.API.Get(s.Context(), types.NamespacedName{Namespace: namespace, Name: name}, pod))
	return pod
}

// pausedDeployments are the names of those that are paused, whoever paused them.
func (s *site) pausedDeployments() []string {
	s.Helper()
	var list appsv1.DeploymentList
	require.NoError(s, s.cluster.API.List(s.Context(), &list))
	var names []string
	for _, d := range list.Items {
		if d.Spec.Paused {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return names
}

// finalizers counts the coordinations that cannot be deleted without us.
func (s *site) finalizers() int {
	s.Helper()
	var list appsapi.DeploymentCoordinationList
	require.NoError(s, s.cluster.API.List(s.Context(), &list))
	count := 0
	for _, c := range list.Items {
		count += len(c.Finalizers)
	}
	return count
}

func (s *site) activeJobs(names ...string) bool {
	s.Helper()
	for _, name := range names {
		job := &batchv1.Job{}
		if s.cluster.API.Get(s.Context(), types.NamespacedName{Namespace: "steps", Name: name}, job) != nil || job.Status.Active == 0 {
			return false
		}
	}
	return true
}

// pending are the names of the pods that are not on a node, sorted.
func (s *site) pending() []string {
	s.Helper()
	var list corev1.PodList
	require.NoError(s, s.cluster.API.List(s.Context(), &list, client.MatchingFields{"spec.nodeName": ""}))
	var names []string
	for _, pod := range list.Items {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// awaitApplicationPods waits until the shop has so many pods that wait.
func (s *site) awaitApplicationPods(count int) {
	s.Helper()
	cluster.Await(s, "the pods of the shop", func() bool { return len(s.pending()) == count })
}

// expectReleased expects what holds after undeploy and after uninstall.
func (s *site) expectReleased() {
	s.Helper()
	assert.Equal(s, []string{"owned"}, s.pausedDeployments(), "only what its owner paused stays paused")
	var list appsv1.DeploymentList
	require.NoError(s, s.cluster.API.List(s.Context(), &list))
	for _, d := range list.Items {
		assert.NotContains(s, d.Annotations, appsapi.PausedByAnnotation)
		assert.NotContains(s, d.Annotations, appsapi.PauseReasonAnnotation)
	}
}

// expectNotDeployed expects that of the manifests only the kinds are left.
func (s *site) expectNotDeployed() {
	s.Helper()
	text, err := os.ReadFile(s.manifests)
	require.NoError(s, err)
	objects, err := removal.ReadObjects(bytes.NewReader(text))
	require.NoError(s, err)
	for _, object := range objects {
		err := s.cluster.API.Get(s.Context(), client.ObjectKeyFromObject(object), object)
		if object.GetKind() == "CustomResourceDefinition" {
			assert.NoError(s, err)
		} else {
			// Clusters before Kubernetes 1.36 serve no policies that change objects.
			gone := apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
			assert.True(s, gone, "%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// expectNoKinds expects that the kinds are gone, and the Jobs of SequentialJobs with them.
func (s *site) expectNoKinds() {
	s.Helper()
	var kinds apiextensionsv1.CustomResourceDefinitionList
	require.NoError(s, s.cluster.API.List(s.Context(), &kinds))
	assert.Empty(s, kinds.Items)
	var jobs batchv1.JobList
	require.NoError(s, s.cluster.API.List(s.Context(), &jobs, client.InNamespace("steps")))
	assert.Empty(s, jobs.Items)
}

// expectStepsAsTheyWere expects of Jobs what undeploy promises.
func (s *site) expectStepsAsTheyWere() {
	s.Helper()
	var jobs batchv1.JobList
	require.NoError(s, s.cluster.API.List(s.Context(), &jobs, client.InNamespace("steps")))
	suspended := map[string]bool{}
	for _, job := range jobs.Items {
		suspended[job.Name] = ptr.Deref(job.Spec.Suspend, false)
	}
	assert.Equal(s, map[string]bool{"running-0": false, "suspended-0": true, "completed-0": false, "failed-0": false}, suspended)
	assert.True(s, s.activeJobs("running-0"))
}
