package sequentialjob

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func TestWhatTheFormerOperatorRanDoesNotRunAgain(t *testing.T) {
	former := func(completed int32, change func(*v1alpha1.SequentialJobStatus)) *worldWrapper {
		return makeWorld(3).at(completed).status(func(s *v1alpha1.SequentialJobStatus) {
			s.Phase, s.State.Active, s.ObservedGeneration = "", 0, 1
			meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: "JobsRunning", Status: "False", Reason: "NoJobsRunning"})
			change(s)
		})
	}
	for name, tc := range map[string]struct {
		world *worldWrapper
		write write
		phase v1alpha1.Phase
		says  string
		check func(*testing.T, v1alpha1.SequentialJobStatus)
	}{
		"all steps": {
			world: former(3, func(s *v1alpha1.SequentialJobStatus) { s.CompletionTime = seconds(-30) }),
			phase: v1alpha1.PhaseSucceeded, says: "all 3 steps are completed",
			check: func(t *testing.T, s v1alpha1.SequentialJobStatus) {
				assert.Equal(t, seconds(-30), s.CompletionTime)
				assert.True(t, meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionComplete))
			},
		},
		"a step failed": { // it wrote no time then
			world: former(1, func(s *v1alpha1.SequentialJobStatus) {
				s.State.Failed, s.Progress.FailedIndex, s.Progress.FailureReason = 1, ptr.To[int32](1), "Error"
			}),
			phase: v1alpha1.PhaseFailed, says: "step 2/3 failed under the original operator of this API: Error",
			check: func(t *testing.T, s v1alpha1.SequentialJobStatus) {
				assert.Equal(t, v1alpha1.SequentialJobProgress{
					CurrentIndex: ptr.To[int32](1), CompletedIndices: []int32{0}, FailedIndex: ptr.To[int32](1), FailureReason: "Error",
				}, s.Progress)
				assert.Equal(t, seconds(0), s.CompletionTime)
			},
		},
		"a step runs": {
			world: former(1, func(s *v1alpha1.SequentialJobStatus) { s.State.Active = 1 }),
			phase: v1alpha1.PhaseFailed, says: `step 2/3 "step-1" ran under the original operator of this API, in pod etl-1,`,
		},
		"it is between two steps": {world: former(1, func(*v1alpha1.SequentialJobStatus) {}), write: createJob, phase: v1alpha1.PhaseRunning},
		"nothing yet":             {world: former(0, func(*v1alpha1.SequentialJobStatus) {}), write: createJob, phase: v1alpha1.PhaseRunning},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(tc.world.world)
			assert.Equal(t, tc.write, d.write)
			assert.Equal(t, tc.phase, d.status.Phase)
			assert.Contains(t, d.status.Message, tc.says)
			assert.Nil(t, meta.FindStatusCondition(d.status.Conditions, "JobsRunning"))
			if tc.check != nil {
				tc.check(t, d.status)
			}
			if tc.phase == v1alpha1.PhaseFailed {
				tc.world.object.Status = d.status
				tc.world.object.Annotations = map[string]string{v1alpha1.AnnotationRetry: "1"}
				tc.world.object.Status = decide(tc.world.world).status
				again := decide(tc.world.world)
				assert.Equal(t, createJob, again.write, "it can be run again")
				assert.Equal(t, "2/3", again.status.Step)
			}
		})
	}
}
