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
