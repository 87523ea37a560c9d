package kubectl

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

// waitFor runs kubectl wait until a condition is true.
func (s *story) waitFor(object, condition string) {
	s.Helper()
	output, err := s.wait(object, condition, cluster.Patience.String())
	require.NoError(s, err, "kubectl wait for %s of %s: %s", condition, object, output)
}

// expectNot checks once, with kubectl wait, that a condition is not true yet.
func (s *story) expectNot(object, condition string) {
	s.Helper()
	output, err := s.wait(object, condition, "0")
	require.Error(s, err, "%s of %s", condition, object)
	assert.Contains(s, output, "condition not met")
}

func (s *story) wait(object, condition, timeout string) (output string, err error) {
	s.Helper()
	return s.Cluster.Shell(s, "kubectl --kubeconfig "+s.Kubeconfig+" wait "+object+" --for=condition="+condition+" --timeout="+timeout)
}

func TestKubectlWaitsForASequence(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	s.Create(MakeSequence(s.Namespace, "backend").Label("Database", "tier", "db").Label("Application", "tier", "app").Obj(),
		unready(s.pod("db", "db")), s.pod("app", "app"))
	s.awaitHeld("app")
	s.waitFor("podseq/backend", "Reconciling")
	s.expectNot("podseq/backend", "Ready")
	s.expectNot("podseq/backend", "Completed")

	s.Annotate(s.Pod("db"), cluster.ReadyAfter, "0s")
	s.waitFor("podseq/backend", "Ready")
	s.waitFor("podseq/backend", "Completed")
	assert.True(t, cluster.IsReady(cluster.Get(s.Story, &corev1.Pod{}, "app")), "it did not wait long enough")

	t.Log("Ready is about now, Completed about what was")
	s.Annotate(s.Pod("db"), cluster.ReadyAfter, "never")
	s.waitFor("podseq/backend", "Ready=false")
	s.waitFor("podseq/backend", "Completed")

	t.Log("who waits for Stalled learns of a failure")
	failing := s.pod("failing", "other")
	failing.Annotations = map[string]string{cluster.FailAfter: "0s"}
	s.Create(MakeSequence(s.Namespace, "failing").Pods("First", "failing").Pods("Second", "second").Obj(), failing)
	s.waitFor("podseq/failing", "Stalled")
	s.expectNot("podseq/failing", "Ready")
	s.expectNot("podseq/failing", "Completed")
}

func TestKubectlWaitsForAClusterPodSequence(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	s.Kubeconfig = s.Cluster.Kubeconfig() // for those who run the cluster
	group := func(name, tier string) v1alpha1.ClusterPodGroup {
		return v1alpha1.ClusterPodGroup{Namespaces: []string{s.Namespace}, PodGroup: v1alpha1.PodGroup{
			Name: name, PodSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"tier": v1alpha1.LabelValue(tier)}},
		}}
	}
	platform := &v1alpha1.ClusterPodSequence{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec:       v1alpha1.ClusterPodSequenceSpec{PodGroups: []v1alpha1.ClusterPodGroup{group("Database", "db"), group("Application", "app")}},
	}
	s.Create(platform)
	t.Cleanup(func() { assert.NoError(t, client.IgnoreNotFound(s.API.Delete(context.Background(), platform))) })
	s.Create(unready(s.pod("db", "db")), s.pod("app", "app"))
	s.awaitHeld("app")
	s.waitFor("cpodseq/"+platform.Name, "Reconciling")
	s.expectNot("cpodseq/"+platform.Name, "Ready")

	s.Annotate(s.Pod("db"), cluster.ReadyAfter, "0s")
	s.waitFor("cpodseq/"+platform.Name, "Ready")
	s.waitFor("cpodseq/"+platform.Name, "Completed")
}

func TestKubectlWaitsForASequentialJob(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	job := func(name string, annotations map[string]string) *batchapi.SequentialJob {
		object := &batchapi.SequentialJob{ObjectMeta: s.Meta(name), Spec: batchapi.SequentialJobSpec{
			BackoffLimit: ptr.To[int32](0),
			Containers:   []corev1.Container{{Name: "first", Image: "work"}, {Name: "second", Image: "work"}},
		}}
		object.Spec.Template.Annotations = annotations
		return object
	}
	etl := job("etl", map[string]string{cluster.CompleteAfter: "0s"})
	etl.Spec.Suspend = true
	s.Create(etl, job("failing", map[string]string{cluster.FailAfter: "0s"}))
	s.waitFor("sequentialjob/etl", "Suspended")
	s.expectNot("sequentialjob/etl", "Complete")
	s.expectNot("sequentialjob/etl", "Ready")

	s.Patch(etl, `{"spec":{"suspend":false}}`)
	s.waitFor("sequentialjob/etl", "Complete")
	s.waitFor("sequentialjob/etl", "Ready")
	assert.EqualValues(t, 2, cluster.Get(s.Story, &batchapi.SequentialJob{}, "etl").Status.State.Succeeded, "it did not wait long enough")

	s.waitFor("sequentialjob/failing", "Stalled")
	s.waitFor("sequentialjob/failing", "Failed")
	s.expectNot("sequentialjob/failing", "Complete")
}

func TestKubectlWaitsForADeploymentCoordination(t *testing.T) {
	t.Parallel()
	s := newStory(t, "view")
	coordination := &appsapi.DeploymentCoordination{ObjectMeta: s.Meta("shop")}
	coordination.Spec.LabelSelector = &appsapi.LabelSelector{MatchLabels: map[string]appsapi.LabelValue{"app": "shop"}}
	web := s.deployment("web", "web", 1)
	web.Labels = map[string]string{"app": "shop"}
	web.Spec.Paused = true // by its owner
	s.Create(coordination, web)
	s.waitFor("deploymentcoordination/shop", "Stalled")
	s.expectNot("deploymentcoordination/shop", "Ready")

	s.Patch(web, `{"spec":{"paused":false}}`)
	s.waitFor("deploymentcoordination/shop", "Ready")
	assert.EqualValues(t, 1, cluster.Get(s.Story, &appsv1.Deployment{}, "web").Status.ReadyReplicas, "it did not wait long enough")
}
