package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
)

func TestAFailedPodThatNobodyReplacesFailsItsSequence(t *testing.T) {
	t.Parallel()
	for name, group := range map[string]v1alpha1.PodGroup{"group by name": named("db", "db"), "group by label": tier("db")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.Create(s.sequence("shop").Group(group).Pods("Application", "app").Obj())
			s.createPods(s.pod("db").Label("tier", "db"), s.pod("app"))
			s.awaitBound("db")
			s.fail("db")
			s.awaitFailed("shop", v1alpha1.ReasonPodFailed)
			s.awaitEvent("shop", v1alpha1.ReasonPodFailed)
			s.expectHeld("app")
			s.remove(s.getPod("db"))
			s.createPods(s.pod("db").Label("tier", "db"))
			s.awaitBound("db")
			s.awaitPhase("shop", v1alpha1.PhaseInProgress)
			s.expectHeld("app")
			s.makeReady("db")
			s.awaitBound("app")
		})
	}
}

func TestAFailedPodThatItsControllerReplacesIsIgnored(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj(), s.deployment("db", 1))
	s.createPods(s.pod("app"))
	s.fail(s.awaitWorking("db", 1)[0])
	replacement := s.awaitWorking("db", 1)
	s.expectHeld("app")
	assert.Equal(t, v1alpha1.PhaseInProgress, s.settledStatus("shop").Phase)
	s.makeReady(replacement...)
	s.awaitBound("app")
	s.makeReady("app")
	s.awaitEvent("shop", v1alpha1.EventSequenceCompleted)
	assert.False(t, s.hasEvent("shop", v1alpha1.ReasonPodFailed), "the failure was told of")
}

func TestConditionsTellWhatASequenceWaitsFor(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	expect := func(ready, progressing, suspended metav1.ConditionStatus, readyFor, progressingFor, suspendedFor string) {
		t.Helper()
		s.awaitCondition("shop", v1alpha1.ConditionReady, ready, readyFor)
		s.awaitCondition("shop", v1alpha1.ConditionProgressing, progressing, progressingFor)
		s.awaitCondition("shop", v1alpha1.ConditionSuspended, suspended, suspendedFor)
		s.awaitCondition("shop", v1alpha1.ConditionDegraded, no, v1alpha1.ReasonAsExpected)
	}
	s.Create(s.sequence("shop").Pods("Database", "db").Pods("Application", "app").Obj())
	expect(no, yes, no, v1alpha1.ReasonWaitingForPods, v1alpha1.ReasonWaitingForPods, v1alpha1.ReasonNotSuspended)
	s.awaitPhase("shop", v1alpha1.PhasePending)
	s.createPods(s.pod("db"), s.pod("app"))
	expect(no, yes, no, v1alpha1.ReasonGroupNotReady, v1alpha1.ReasonGroupNotReady, v1alpha1.ReasonNotSuspended)
	s.setSuspended("shop", true)
	expect(no, no, yes, v1alpha1.ReasonGroupNotReady, v1alpha1.ReasonSuspended, v1alpha1.ReasonSuspended)
	s.setSuspended("shop", false)
	s.awaitBound("db")
	s.makeReady("db")
	s.awaitBound("app")
	s.makeReady("app")
	expect(yes, no, no, v1alpha1.ReasonCompleted, v1alpha1.ReasonCompleted, v1alpha1.ReasonNotSuspended)

	groups := s.getSequence("shop").Status.Groups
	for i, group := range groups {
		assert.Equal(t, v1alpha1.GroupPassed, group.Phase)
		assert.False(t, group.SatisfiedAt.Before(group.ReleasedAt), "group %d", i)
		assert.False(t, group.PassedAt.Before(group.SatisfiedAt), "group %d", i)
	}
	assert.False(t, groups[1].ReleasedAt.Before(groups[0].PassedAt), "a group is released when the one before it is passed")
}
