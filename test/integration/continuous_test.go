package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

func (s *story) continuous(groups ...v1alpha1.PodGroup) *v1alpha1.PodSequence {
	sequence := s.sequence("shop").Obj()
	sequence.Spec.EnforcementMode, sequence.Spec.PodGroups = v1alpha1.Continuous, groups
	return sequence
}

func TestContinuousHoldsNewPodsWhileAnEarlierGroupIsNotReady(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Create(s.continuous(named("Database", "db"), tier("app")))
	s.createPods(s.pod("db"), s.pod("app-0").Label("tier", "app"))
	s.awaitBound("db")
	s.makeReady("db")
	s.awaitBound("app-0")
	before := s.getPod("app-0")

	s.annotate("db", cluster.ReadyAfter, "never")
	s.Await("db to be unready", func() bool { return !cluster.IsReady(s.getPod("db")) })
	s.fence() // which is known to all
	s.createPods(s.pod("app-1").Label("tier", "app"))
	s.expectHeld("app-1")
	after := s.getPod("app-0")
	assert.Equal(t, before.UID, after.UID, "a bound pod is never touched")
	assert.Equal(t, before.Spec.NodeName, after.Spec.NodeName, "a bound pod is never touched")
	s.makeReady("db")
	s.awaitBound("app-1")
}

// newRevision changes the template of a workload.
const newRevision = `{"spec":{"template":{"metadata":{"annotations":{"revision":"2"}}}}}`

// The new pods of the second tier wait until the first tier's new revision is out, although the pods of its old revision
// are ready all the time.
func TestRolloutsInOrder(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.continuous(tier("db"), tier("app")))
	db, app := s.surging("db"), s.surging("app")
	s.Create(db, app)
	s.makeReady(s.awaitWorking("db", 2)...)
	s.makeReady(s.awaitWorking("app", 2)...)
	s.awaitPhase("shop", v1alpha1.PhaseCompleted)

	s.Patch(db, newRevision)
	first := s.awaitWorking("db", 1)
	s.Patch(app, newRevision)
	waiting := s.awaitWaiting("app", 1)
	s.expectHeld(waiting...)
	s.makeReady(first...)
	second := s.awaitWorking("db", 1)
	s.expectHeld(waiting...)
	s.makeReady(second...)
	s.awaitBound(waiting...)
	s.makeReady(waiting...)
	s.makeReady(s.awaitWorking("app", 1)...)
	s.awaitPhase("shop", v1alpha1.PhaseCompleted)
}

// surging is a Deployment of two that starts a new pod before it stops an old one.
func (s *story) surging(tier string) *appsv1.Deployment {
	deployment := s.deployment(tier, 2)
	deployment.Spec.Strategy = appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
		},
	}
	return deployment
}
