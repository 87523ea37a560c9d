package sequence

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/report"
)

// A pod that was released, and found no node, is held again: because a scheduler that starts does not know enough yet, or by another
// sequence. What the pod is told then must not take away what its proof counts by: nothing else may be left to prove the release.
func TestAPodThatIsHeldAgainKeepsOnRecordThatItWasTried(t *testing.T) {
	for _, reason := range []string{corev1.PodReasonUnschedulable, corev1.PodReasonSchedulerError} {
		p := &corev1.Pod{}
		p.Namespace, p.Name, p.UID = "shop", "app", "app"
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason}}
		for _, message := range []string{"waiting for the first list of pods", "waiting for group 1/2"} {
			p = told(t, p, message)
			assert.Equal(t, message, p.Status.Conditions[0].Message)
			view := inventory.ViewPod(p)
			assert.True(t, view.Tried, "%s, %s", reason, message)
		}
	}

	never := &corev1.Pod{}
	for _, message := range []string{"one", "another"} {
		never = told(t, never, message)
		view := inventory.ViewPod(never)
		assert.False(t, view.Tried, "a pod that was always held")
	}
}

// told is the pod once its condition has a message.
func told(t *testing.T, p *corev1.Pod, message string) *corev1.Pod {
	t.Helper()
	before, err := json.Marshal(p)
	require.NoError(t, err)
	after, err := strategicpatch.StrategicMergePatch(before, report.WaitingPatch(p, message, time.Now()), p)
	require.NoError(t, err)
	patched := &corev1.Pod{}
	require.NoError(t, json.Unmarshal(after, patched))
	return patched
}
