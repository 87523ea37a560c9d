package podgroup

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/test/harness/cluster"
)

func TestAGroupOfFourWhosePodsArriveOneByOne(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.expect("gang", 4)
	for i := range 3 {
		s.Create(s.pod(fmt.Sprintf("pod-%d", i), "gang", size("4")))
		s.awaitRunning("gang", i+1)
		s.expectNoLabels("gang")
	}
	s.Create(s.pod("pod-3", "gang", size("4"), held))
	s.expectNoLabels("gang") // it is there and does not run
	s.releasePods("pod-3")
	s.awaitLabels("gang", 4)
}

func TestMembers(t *testing.T) {
	t.Parallel()
	t.Run("one that has succeeded before the last runs counts", func(t *testing.T) {
		s := newStory(t)
		s.expect("gang", 3)
		s.Create(s.pod("pod-0", "gang", size("3"), annotation(cluster.CompleteAfter, "0s")))
		s.awaitPhase(corev1.PodSucceeded, "pod-0")
		s.Create(s.pod("pod-1", "gang", size("3")))
		s.expectNoLabels("gang")
		s.Create(s.pod("pod-2", "gang", size("3")))
		s.awaitLabels("gang", 3)
	})
	t.Run("one that is terminating is none", func(t *testing.T) {
		s := newStory(t)
		s.expect("gang", 2)
		leaving := s.pod("leaving", "gang", size("2"))
		leaving.Finalizers = []string{"example.com/stay"}
		s.Create(leaving)
		s.awaitPhase(corev1.PodRunning, "leaving")
		require.NoError(s, s.API.Delete(s.Ctx, leaving))
		s.Create(s.pod("pod-0", "gang", size("2")))
		s.expectNoLabels("gang")
		s.Create(s.pod("pod-1", "gang", size("2")))
		for _, name := range []string{"pod-0", "pod-1"} {
			s.Await(name+" to be labelled", func() bool { return labelled(s.get(name)) })
		}
		s.fence()
		assert.False(t, labelled(s.get("leaving")))
		s.Patch(s.Pod("leaving"), `{"metadata":{"finalizers":null}}`)
	})
	t.Run("one that failed and has nobody to replace it keeps the group waiting", func(t *testing.T) {
		s := newStory(t)
		failing := s.pod("pod-0", "gang", size("2"), annotation(cluster.FailAfter, "0s"))
		s.Create(failing)
		s.awaitPhase(corev1.PodFailed, "pod-0")
		s.Create(s.pod("pod-1", "gang", size("2")), s.pod("pod-2", "gang", size("2")))
		s.awaitRunning("gang", 2)
		s.expectNoLabels("gang")
		require.NoError(s, s.API.Delete(s.Ctx, failing))
		s.awaitLabels("gang", 2)
	})
	t.Run("one that was replaced before the others run is missed until its successor runs", func(t *testing.T) {
		s := newStory(t)
		s.expect("gang", 2)
		first := s.pod("pod-0", "gang", size("2"))
		s.Create(first, s.pod("pod-1", "gang", size("2"), held))
		s.awaitPhase(corev1.PodRunning, "pod-0")
		require.NoError(s, s.API.Delete(s.Ctx, first))
		s.Await("it to be gone", func() bool { return len(s.group("gang")) == 1 })
		s.releasePods("pod-1")
		s.awaitPhase(corev1.PodRunning, "pod-1")
		s.expectNoLabels("gang")
		s.Create(s.pod("pod-0", "gang", size("2")))
		s.awaitLabels("gang", 2)
	})
	t.Run("one that joins later is labelled once all run again, and the others keep their label", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.pod("pod-0", "gang"), s.pod("pod-1", "gang"))
		s.awaitLabels("gang", 2)
		s.Create(s.pod("pod-2", "gang", held), s.pod("pod-3", "gang"))
		s.awaitPhase(corev1.PodRunning, "pod-3")
		s.fence()
		assert.False(t, labelled(s.get("pod-3")), "pod-2 does not run")
		assert.True(t, labelled(s.get("pod-0")))
		s.releasePods("pod-2")
		s.awaitLabels("gang", 4)
	})
	t.Run("one that changes its group counts where it is", func(t *testing.T) {
		s := newStory(t)
		s.expect("gang", 2)
		s.Create(s.pod("pod-0", "gang", size("2")), s.pod("pod-1", "stray", size("2")))
		s.awaitRunning("gang", 1)
		s.expectNoLabels("gang")
		s.Patch(s.Pod("pod-1"), fmt.Sprintf(`{"metadata":{"labels":{%q:"gang"}}}`, nameLabel))
		s.awaitLabels("gang", 2)
	})
	t.Run("one whose label is taken off gets it again", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.pod("pod-0", "gang"))
		s.awaitLabels("gang", 1)
		s.Patch(s.Pod("pod-0"), fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, readyLabel))
		s.awaitLabels("gang", 1)
	})
	t.Run("a pod of no group is left alone", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.pod("unnamed", ""))
		s.awaitPhase(corev1.PodRunning, "unnamed")
		s.fence()
		assert.False(t, labelled(s.get("unnamed")), "an empty label names no group")
	})
}

// A label is for one group. Whether the controller runs while a pod changes its group does not matter.
func TestAPodThatChangesItsGroupLosesItsLabel(t *testing.T) {
	t.Parallel()
	for name, while := range map[string]func(s *story, do func()){
		"while the controller runs": func(_ *story, do func()) { do() },
		"while it is down":          (*story).WhileControllerDown,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStoryIn(t, victims.Take(t))
			s.Create(s.pod("moving", "gang"), s.pod("staying", "gang"))
			s.awaitLabels("gang", 2)
			s.expect("other", 3)
			s.Create(s.pod("other-0", "other", size("3")))
			s.awaitPhase(corev1.PodRunning, "other-0")
			while(s, func() { s.Patch(s.Pod("moving"), fmt.Sprintf(`{"metadata":{"labels":{%q:"other"}}}`, nameLabel)) })
			s.Await("the label to go", func() bool { return !labelled(s.get("moving")) })
			s.expectNoLabels("other")
			assert.True(t, labelled(s.get("staying")))
			s.Create(s.pod("other-1", "other", size("3")))
			s.awaitLabels("other", 3)
			s.fence()
			assert.True(t, labelled(s.get("moving")))
		})
	}
}

func TestAPodThatLeavesItsGroupLosesItsLabel(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"without another": "null", "for an empty one": `""`} {
		t.Run(name, func(t *testing.T) {
			s := newStoryIn(t, victims.Take(t))
			s.Create(s.pod("leaving", "gang"), s.pod("staying", "gang"))
			s.awaitLabels("gang", 2)
			s.WhileControllerDown(func() { s.Patch(s.Pod("leaving"), fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, nameLabel, value)) })
			s.Await("the label to go", func() bool { return !labelled(s.get("leaving")) })
			s.fence()
			assert.True(t, labelled(s.get("staying")))
		})
	}
}

func TestTwoNamespacesWithAGroupOfTheSameName(t *testing.T) {
	t.Parallel()
	a, b := newStory(t), newStory(t)
	a.expect("gang", 2)
	a.Create(a.pod("pod-0", "gang", size("2")))
	b.Create(b.pod("pod-0", "gang", size("1")))
	b.awaitLabels("gang", 1)
	a.awaitRunning("gang", 1)
	a.expectNoLabels("gang")
	a.Create(a.pod("pod-1", "gang", size("2")))
	a.awaitLabels("gang", 2)
}
