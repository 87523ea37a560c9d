package podgroup

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const tier = "tier"

// gated pods wait for their turn in a PodSequence. Those of the default scheduler are given to ours, which does not run here.
func gated(t *corev1.PodTemplateSpec) {
	t.Spec.SchedulerName = controlplane.AnotherScheduler
	t.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
}

func (s *story) sequence(name string) *v1alpha1.PodSequence {
	s.Helper()
	sequence := &v1alpha1.PodSequence{}
	require.NoError(s, s.API.Get(s.Ctx, types.NamespacedName{Namespace: s.Namespace, Name: name}, sequence))
	return sequence
}

func TestASequenceWaitsForAsManyPodsAsThePodGroupAsksFor(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Create(s.native("trainers", gang(3)))
	s.Create(MakeSequence(s.Namespace, "training").Label("Trainers", tier, "train").Label("Report", tier, "report").Obj())
	s.Create(s.pod("report", "report", label(tier, "report"), gated))
	trainer := []func(*corev1.PodTemplateSpec){label(tier, "train"), inPodGroup("trainers"), placed}
	s.Create(s.pod("trainer-0", "train", trainer...), s.pod("trainer-1", "train", trainer...))
	s.Await("the sequence to know of two", func() bool { return s.sequence("training").Status.ReadyPods == "2/3" })
	assert.Len(t, s.get("report").Spec.SchedulingGates, 1, "the third trainer is not there")

	s.Create(s.pod("trainer-2", "train", trainer...))
	s.awaitPhase(corev1.PodRunning, "report")
	assert.Equal(t, corev1.PodRunning, s.get("trainer-2").Status.Phase)
}

func TestAPodGroupSplitOverGroupsOfASequenceIsReported(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Create(s.native("split", gang(2)))
	s.Create(MakeSequence(s.Namespace, "split").Pods("One", "one").Pods("Two", "two").Obj())
	s.Create(s.pod("one", "one", inPodGroup("split"), gated), s.pod("two", "two", inPodGroup("split"), gated))
	s.Await("the sequence to be degraded", func() bool {
		degraded := meta.FindStatusCondition(s.sequence("split").Status.Conditions, v1alpha1.ConditionDegraded)
		return degraded != nil && degraded.Reason == v1alpha1.ReasonGangSplit
	})
	degraded := meta.FindStatusCondition(s.sequence("split").Status.Conditions, v1alpha1.ConditionDegraded)
	assert.Contains(t, degraded.Message, "PodGroup split has pods in several groups")
	assert.Contains(t, degraded.Message, "put all its pods into one group")
}
