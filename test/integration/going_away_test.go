package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// What goes away satisfies nobody.

// removeAs deletes an object with a policy that tells the garbage collector what to do with what it owns, and waits until it is
// gone.
func (s *story) removeAs(policy metav1.DeletionPropagation, object client.Object) {
	s.Helper()
	require.NoError(s, s.API.Delete(s.Ctx, object, client.PropagationPolicy(policy)))
	s.awaitDeleted(object)
}

func (s *story) awaitDeleted(object client.Object) {
	s.Helper()
	gone := object.DeepCopyObject().(client.Object)
	s.Await(object.GetName()+" to be gone", func() bool {
		return apierrors.IsNotFound(s.API.Get(s.Ctx, client.ObjectKeyFromObject(object), gone))
	})
}

// twoOfAJob is a Job that fails as soon as one of its two pods does.
func (s *story) twoOfAJob() *batchv1.Job {
	job := s.job("migrate", "migrate", 2, 2)
	job.Spec.CompletionMode, job.Spec.BackoffLimit = ptr.To(batchv1.IndexedCompletion), ptr.To[int32](0)
	return job
}

func TestAJobThatFailedAndIsGoneIsStillMissing(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, policy := range map[string]metav1.DeletionPropagation{
		"its time to live is over": "", "deleted in the foreground": metav1.DeletePropagationForeground,
		"deleted in the background": metav1.DeletePropagationBackground,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.Create(s.sequence("shop").Group(completed("migrate")).Pods("Application", "app").Obj(), s.twoOfAJob())
			s.createPods(s.pod("app"))
			pods := s.awaitWorking("migrate", 2)
			s.succeed(pods[0])
			s.fail(pods[1])
			s.awaitFailed("shop", v1alpha1.ReasonJobFailed)
			if policy == "" {
				s.Patch(s.twoOfAJob(), `{"spec":{"ttlSecondsAfterFinished":0}}`)
				s.awaitDeleted(s.twoOfAJob())
			} else {
				s.removeAs(policy, s.twoOfAJob())
			}
			s.expectHeld("app")
			status := s.settledStatus("shop")
			assert.Equal(t, v1alpha1.PhaseFailed, status.Phase)
			require.Len(t, status.Failures, 1)

			s.Create(s.twoOfAJob())
			again := s.awaitWorking("migrate", 2)
			s.expectHeld("app")
			s.succeed(again[0])
			s.expectHeld("app")
			s.succeed(again[1])
			s.awaitBound("app")
			assert.Empty(t, s.settledStatus("shop").Failures)
		})
	}
}

// As the message says: delete it and create it again.
func TestAFailedJobBesideACompleteOneIsDeletedAndCreatedAgain(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	group := v1alpha1.PodGroup{
		Name: "Migrations", PodSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"tier": "migrate"}},
		RequiredStatus: v1alpha1.RequireComplete,
	}
	schema, seed := s.job("schema", "migrate", 1, 1), s.job("seed", "migrate", 1, 1)
	// Both are there before one fails: a Job that is created in a later second would succeed it.
	s.Create(s.sequence("shop").Group(group).Pods("Application", "app").Obj(), schema.DeepCopy(), seed)
	s.createPods(s.pod("app"))
	pods := s.awaitWorking("migrate", 2) // by name
	s.fail(pods[0])
	s.succeed(pods[1])
	s.awaitFailed("shop", v1alpha1.ReasonJobFailed)
	s.removeAs(metav1.DeletePropagationBackground, schema.DeepCopy())
	s.expectHeld("app")
	s.Create(schema.DeepCopy())
	pod := s.awaitWorking("migrate", 1)[0]
	s.expectHeld("app")
	s.succeed(pod)
	s.awaitBound("app")
}

// The engines that saw the failure are gone; status has it.
func TestAFailedJobIsRemovedWhileBothProgramsAreDown(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStoryIn(t, exclusively(t))
	s.Create(s.sequence("shop").Group(completed("load")).Pods("Application", "app").Obj(), s.job("load", "load", 1, 1), s.job("more", "load", 1, 1))
	s.createPods(s.pod("app"))
	pods := s.awaitWorking("load", 2)
	s.fail(pods[0])
	s.succeed(pods[1])
	s.Await("the failure to be recorded", func() bool { return len(s.getSequence("shop").Status.Failures) == 1 })
	failed := s.getSequence("shop").Status.Failures[0].Name
	ours := []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController}
	for _, program := range ours {
		require.NoError(t, s.Cluster.Kill(s.Ctx, program))
	}
	s.removeAs(metav1.DeletePropagationForeground, s.job(failed, "load", 1, 1))
	for _, program := range ours {
		require.NoError(t, s.Cluster.StartComponent(s.Ctx, program))
	}
	s.expectHeld("app")
	s.Create(s.job(failed, "load", 1, 1))
	s.succeed(s.awaitWorking("load", 1)[0])
	s.awaitBound("app")
}

func TestAWorkloadThatIsDeletedSatisfiesNobody(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, policy := range map[string]metav1.DeletionPropagation{
		"in the foreground": metav1.DeletePropagationForeground, "in the background": metav1.DeletePropagationBackground,
	} {
		t.Run("a Deployment "+name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj(), s.deployment("db", 3))
			s.createPods(s.pod("app"))
			pods := s.awaitWorking("db", 3)
			s.makeReady(pods[:2]...)
			s.removeAs(policy, s.deployment("db", 3))
			s.expectHeld("app")
			s.Await("its pods to be gone", func() bool { return len(s.podsOf("db", func(*corev1.Pod) bool { return true })) == 0 })
			s.expectHeld("app")
			assert.Equal(t, v1alpha1.PhaseInProgress, s.settledStatus("shop").Phase)
		})
		t.Run("a StatefulSet "+name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj(), s.statefulSet("db", "db", 3))
			s.createPods(s.pod("app"))
			s.makeReady(s.awaitWorking("db", 1)...)
			s.awaitWorking("db", 1) // the next, as the first is ready
			s.removeAs(policy, s.statefulSet("db", "db", 3))
			s.expectHeld("app")
			s.Await("its pods to be gone", func() bool { return len(s.podsOf("db", func(*corev1.Pod) bool { return true })) == 0 })
			s.expectHeld("app")
		})
	}
}

// A finalizer of somebody keeps the Deployment from being gone.
func TestAGroupWaitsUntilWhatIsDeletedIsGone(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	slow, quick := s.deployment("slow", 1), s.deployment("quick", 1)
	for _, d := range []*appsv1.Deployment{slow, quick} {
		d.Spec.Template.Labels["tier"], d.Spec.Selector.MatchLabels["tier"] = "db", "db"
		d.Spec.Template.Labels["app"], d.Spec.Selector.MatchLabels["app"] = d.Name, d.Name
	}
	slow.Finalizers = []string{"example.com/slow"}
	s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj(), slow, quick)
	s.createPods(s.pod("app"))
	s.awaitWorking("db", 2)
	require.NoError(t, s.API.Delete(s.Ctx, slow, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	s.Await("the pods of what is deleted to be gone", func() bool { return len(s.podsOf("db", func(*corev1.Pod) bool { return true })) == 1 })
	s.makeReady(s.podsOf("db", func(*corev1.Pod) bool { return true })...)
	s.expectHeld("app")
	assert.Contains(t, s.settledStatus("shop").Message, "a workload of the group is being deleted")
	s.Patch(slow, `{"metadata":{"finalizers":null}}`)
	s.awaitBound("app")
}

func TestADaemonSetIsUpToDateWhenItsControllerSaysSo(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newNodeStory(t, "a", "b")
	create := func() {
		set := s.daemonSet("net", "net")
		set.Spec.Template.Spec.NodeSelector = map[string]string{ofStory: s.Namespace}
		set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: ofStory, Operator: corev1.TolerationOpExists}}
		set.Spec.Template.Annotations[cluster.ReadyAfter] = "0s"
		s.Create(set)
	}
	awaitRolledOut := func() {
		t.Helper()
		s.Await("the rollout to be over, as kubectl says", func() bool {
			set := cluster.Get(s.Story, &appsv1.DaemonSet{}, "net")
			return set.Status.ObservedGeneration == set.Generation && set.Status.DesiredNumberScheduled == 2 &&
				set.Status.UpdatedNumberScheduled == 2 && set.Status.NumberAvailable == 2
		})
	}
	expectStarts := func(name string) {
		t.Helper()
		s.Create(s.sequence(name).Group(tier("net")).Pods("Application", name).Obj())
		s.createPods(s.pod(name))
		s.awaitBound(name)
	}
	create()
	awaitRolledOut()

	// A rollout gets stuck and is undone: the pods that it did not replace have the newest hash and an old generation.
	s.Patch(s.daemonSet("net", "net"), `{"spec":{"template":{"metadata":{"annotations":{"`+cluster.ReadyAfter+`":"never"}}}}}`)
	s.awaitWorking("net", 1)
	s.Patch(s.daemonSet("net", "net"), `{"spec":{"template":{"metadata":{"annotations":{"`+cluster.ReadyAfter+`":"0s"}}}}}`)
	awaitRolledOut()
	expectStarts("undone")

	// It is orphaned and made again, and adopts its pods.
	before := s.story.podsOf("net", cluster.IsReady)
	s.removeAs(metav1.DeletePropagationOrphan, s.daemonSet("net", "net"))
	create()
	awaitRolledOut()
	assert.ElementsMatch(t, before, s.story.podsOf("net", cluster.IsReady), "it should have adopted its pods")
	expectStarts("adopted")
}
