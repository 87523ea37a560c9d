package integration

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// A pod that nobody released in its turn says nothing about the groups before its own.
func TestAPodBoundBeforeItsSequenceProvesNothing(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Run("a pod of our scheduler that was bound before the sequence was created", func(t *testing.T) {
		s := newStory(t)
		s.createPods(s.pod("early"))
		s.awaitBound("early")
		s.expectSecondTierWaits()
	})
	t.Run("a pod that was created on a node", func(t *testing.T) {
		s := newStory(t)
		s.createPods(s.pod("early").Node("node-0"))
		s.expectSecondTierWaits()
	})
	t.Run("a pod that was bound by hand, with the sequence there", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.twoTiers())
		s.createPods(s.pod("db"), s.pod("early"))
		s.awaitBound("db")
		s.bindByHand("early")
		s.violates = []string{"early"}
		s.createPods(s.gated("app"))
		s.expectTurn("app")
	})
	t.Run("a pod that was bound by hand before the sequence was created", func(t *testing.T) {
		s := newStory(t)
		s.createPods(s.pod("early").SchedulerName("nobody"))
		s.bindByHand("early")
		s.expectSecondTierWaits()
	})
}

// twoTiers is a sequence of pods by name. Of the second tier "early" is bound before its turn.
func (s *story) twoTiers() *v1alpha1.PodSequence {
	return s.sequence("shop").Pods("Database", "db").Pods("Application", "early", "app").Obj()
}

// expectSecondTierWaits creates the sequence over a pod that is bound already, and sees the others start in order.
func (s *story) expectSecondTierWaits() {
	s.Helper()
	s.Create(s.twoTiers())
	s.createPods(s.gated("app"), s.pod("db"))
	s.awaitBound("db")
	s.expectTurn("app")
}

// expectTurn sees that a pod waits until db is ready.
func (s *story) expectTurn(name string) {
	s.Helper()
	s.expectHeld(name)
	assert.NotEmpty(s, gates(s.getPod(name)))
	s.makeReady("db")
	s.awaitBound(name)
}

// A release needs no more than a binding, and the gates that are lifted.
func TestNothingIsWrittenOnReleasedPods(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Pods("Database", "db").Pods("Application", "app", "gated", "stock").Obj())
	s.createPods(s.pod("db"), s.pod("app"), s.gated("gated"), s.gated("stock").SchedulerName(stockScheduler))
	created := map[string]*corev1.Pod{}
	for _, name := range []string{"app", "gated", "stock"} {
		created[name] = s.getPod(name)
	}
	s.awaitBound("db")
	s.makeReady("db")
	for name, before := range created {
		s.awaitBound(name)
		after := s.getPod(name)
		maps.DeleteFunc(after.Labels, func(key, _ string) bool { return strings.HasPrefix(key, "topology.kubernetes.io/") }) // the API server's
		assert.Equal(t, before.Annotations, after.Annotations, name)
		assert.Equal(t, len(before.Labels), len(after.Labels), "%s: %v", name, after.Labels)
	}
}

// Both programs are away while the pods of the first tier go, and with them everything that could be seen of it. The record in
// status is all there is.
func TestTheRecordKeepsProgress(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, makeLater := range map[string]func(s *story){
		"for our scheduler":    func(s *story) { s.createPods(s.gated("later")) },
		"for other schedulers": func(s *story) { s.createPods(s.gated("later").SchedulerName(stockScheduler)) },
	} {
		t.Run(name, func(t *testing.T) {
			env := exclusively(t)
			s := newStoryIn(t, env)
			s.Create(s.sequence("shop").Pods("Database", "db").Pods("Application", "app", "later").Obj())
			s.createPods(s.pod("db"), s.pod("app"))
			s.awaitBound("db")
			s.makeReady("db")
			s.awaitBound("app")
			s.fence()

			ours := []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController}
			for _, program := range ours {
				require.NoError(t, env.Kill(s.Ctx, program))
			}
			s.remove(s.getPod("db"))
			for _, program := range ours {
				require.NoError(t, env.StartComponent(s.Ctx, program))
			}
			makeLater(s)
			s.awaitBound("later")
		})
	}
}
