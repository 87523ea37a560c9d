package workloads

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

// deployment creates a Deployment of pods labelled app=NAME.
func (s *story) deployment(name string, replicas int32) {
	s.Helper()
	d := &appsv1.Deployment{ObjectMeta: s.Meta(name)}
	d.Spec.Replicas, d.Spec.Template = &replicas, template(name)
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	s.Create(d)
}

// scale scales a Deployment as HorizontalPodAutoscalers and KEDA do.
func (s *story) scale(name string, replicas int32) {
	s.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	d := &appsv1.Deployment{ObjectMeta: s.Meta(name)}
	require.NoError(s, s.API.SubResource("scale").Update(s.Ctx, d, client.WithSubResourceBody(scale)))
}

// A Deployment at zero expects no pods, so that nobody waits for it, unless the group says how many it expects.
func TestAGroupThatAnAutoscalerHasAtZero(t *testing.T) {
	for name, expected := range map[string]int32{"nobody waits": 0, "it is waited for with expectedPods": 1} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			ps := MakeSequence(s.Namespace, "shop").Label("Database", "app", "db").Label("Application", "app", "api").Obj()
			ps.Spec.PodGroups[0].ExpectedPods = expected
			s.Create(ps)
			s.deployment("db", 0)
			s.deployment("api", 1)
			if expected == 0 {
				s.awaitBound("api", 1)
				return
			}
			s.expectHeld("api", 1)
			s.scale("db", 1)
			s.makeReady(s.awaitBound("db", 1)...)
			s.awaitBound("api", 1)
		})
	}
}

func TestPodsThatAnAutoscalerAddsAreNotHeldAgain(t *testing.T) {
	s := newStory(t)
	s.Create(MakeSequence(s.Namespace, "shop").Label("Database", "app", "db").Label("Application", "app", "api").Obj())
	s.deployment("db", 1)
	s.deployment("api", 1)
	s.makeReady(s.awaitBound("db", 1)...)
	s.awaitBound("api", 1)
	s.scale("db", 3) // two are not ready
	s.awaitBound("db", 3)
	s.scale("api", 4)
	s.awaitBound("api", 4)
}

// evict evicts a pod as drains and deschedulers do.
func (s *story) evict(name string) error {
	return s.API.SubResource("eviction").Create(s.Ctx, s.Pod(name), &policyv1.Eviction{})
}

// A held pod is not healthy: it counts for no budget. Evictions of the others are refused until it has started.
func TestABudgetDoesNotCountHeldPods(t *testing.T) {
	s := newStory(t)
	s.Create(MakeSequence(s.Namespace, "shop").Mode(v1alpha1.Continuous).Label("Database", "app", "db").Label("Application", "app", "api").Obj())
	s.deployment("db", 1)
	s.makeReady(s.awaitBound("db", 1)...)
	s.deployment("api", 1)
	s.makeReady(s.awaitBound("api", 1)...)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: s.Meta("api")}
	one := intstr.FromInt32(1)
	budget.Spec.MinAvailable, budget.Spec.Selector = &one, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}}
	s.Create(budget)

	db := s.pods("app", "db")
	require.NoError(t, s.evict(db[0].Name)) // a drain of its node
	s.Await("the pod of the database to be replaced", func() bool {
		pods := s.pods("app", "db")
		return len(pods) == 1 && pods[0].UID != db[0].UID && bound(pods) == 1
	})
	api := s.pods("app", "api")
	s.scale("api", 2)
	s.awaitPods("api", 2)
	s.fence()
	s.expectBound("api", 1)
	s.Await("the budget to know both pods", func() bool {
		return cluster.Get(s.Story, &policyv1.PodDisruptionBudget{}, "api").Status.ExpectedPods == 2
	})
	assert.True(t, apierrors.IsTooManyRequests(s.evict(api[0].Name)), "one healthy pod, and one that is held")

	s.makeReady(s.pods("app", "db")...)
	s.makeReady(s.awaitBound("api", 2)...)
	s.Await("the eviction", func() bool { return s.evict(api[0].Name) == nil })
}
