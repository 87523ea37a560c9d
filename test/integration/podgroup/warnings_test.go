package podgroup

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// How often events are sent is tested with the reconciler: here the controller may start anew, and then reports again.
func TestWarnings(t *testing.T) {
	t.Parallel()
	t.Run("an annotation that is no size is reported, and the next source counts", func(t *testing.T) {
		s := newStory(t)
		s.expect("gang", 3)
		quota := s.quota(2)
		job := s.job("work", 3, nil)
		job.Spec.Template.Annotations[sizeAnnotation] = "three"
		s.Create(job)
		s.awaitRunning("gang", 2)
		s.expectNoLabels("gang")
		s.liftQuota(quota, 3, job)
		s.awaitLabels("gang", 3)
		s.awaitEvent("InvalidGroupSize", `^annotation podgroup.jhwagner.github.io/size of pod work-\w+ is "three": it must be a whole number, `)
	})
	t.Run("sources that disagree are reported, and the first counts", func(t *testing.T) {
		s := newStory(t)
		quota := s.quota(2)
		job := s.job("work", 3, nil)
		job.Spec.Template.Annotations[sizeAnnotation] = "2"
		s.Create(job)
		s.awaitLabels("gang", 2)
		s.liftQuota(quota, 3, job)
		s.awaitLabels("gang", 3)
		s.awaitEvent("GroupSizeConflict",
			"^the group has 2 pods by annotation podgroup.jhwagner.github.io/size, but 3 by Jobs, StatefulSets and ReplicaSets: 2 counts$")
	})
	t.Run("a group that waits for more than its workloads make is reported", func(t *testing.T) {
		s := newStory(t)
		s.expect("gang", 4)
		job := s.job("work", 3, nil)
		job.Spec.Template.Annotations[sizeAnnotation] = "4"
		s.Create(job)
		s.awaitRunning("gang", 3)
		s.expectNoLabels("gang")
		s.awaitEvent("GroupSizeConflict", "^the group has 4 pods by annotation .*, but 3 by Jobs")
	})
	t.Run("annotations that disagree are reported, and that of the pod whose name comes first counts", func(t *testing.T) {
		s := newStory(t)
		s.expect("gang", 2)
		s.Create(s.pod("pod-0", "gang", size("2"), held), s.pod("pod-1", "gang", size("1")))
		s.awaitRunning("gang", 1)
		s.expectNoLabels("gang")
		s.releasePods("pod-0")
		s.awaitLabels("gang", 2)
		s.awaitEvent("GroupSizeConflict",
			"^annotation podgroup.jhwagner.github.io/size of pod pod-0 says 2, and that of pod pod-1 says 1: 2 counts, from the pod whose name comes first$")
	})
}

func TestAGroupThatDoesNotGetReadyIsReported(t *testing.T) {
	t.Parallel() // it takes a minute
	s := newStory(t)
	s.Create(s.pod("pod-0", "gang", size("3")), s.pod("pod-1", "gang", size("3"), held))
	s.awaitEvent("GroupNotReady", `^the group is not ready: \d of \d pods run, \d more (is|are) missing \(size by annotation .*\)\. `)
	log, err := os.ReadFile(shared.Log(controlplane.PodSequenceController))
	require.NoError(t, err)
	assert.Regexp(t, `"The pod group has a problem".* namespace="`+s.Namespace+`" name="gang".* reason="GroupNotReady"`, string(log))
}
