package sequentialjob

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// The controller is killed before and after each write it makes, and started again: the end is always the same, and no
// step is started twice.
func TestKilledAtAnyWrite(t *testing.T) {
	scenarios := map[string]struct {
		object func(*story) *v1alpha1.SequentialJob
		drive  func(*story)
		writes int // that a controller makes that is not killed, at least
		more   int // that it makes at most
		want   v1alpha1.SequentialJobProgress
		phase  v1alpha1.Phase
		jobs   map[string]int
	}{
		"three steps": {
			object: func(s *story) *v1alpha1.SequentialJob { return s.quickSteps("etl", 3) },
			writes: 3 + 3*2 + 1, // the dry runs, a Job and a status for each step, and the last status
			want:   v1alpha1.SequentialJobProgress{CurrentIndex: ptr.To[int32](3), CompletedIndices: []int32{0, 1, 2}},
			phase:  v1alpha1.PhaseSucceeded,
			jobs:   map[string]int{"etl-0": 1, "etl-1": 1, "etl-2": 1},
		},
		"failure in the middle": {
			object: func(s *story) *v1alpha1.SequentialJob { return s.steps("etl", 3) },
			drive:  func(s *story) { s.complete("etl", 0); s.fail("etl", 1) },
			writes: 3 + 2*2 + 1,
			more:   1, // what the pod says that failed, if it is seen before its Job has failed
			want: v1alpha1.SequentialJobProgress{
				CurrentIndex: ptr.To[int32](1), CompletedIndices: []int32{0},
				FailedIndex: ptr.To[int32](1), FailureReason: batchv1.JobReasonBackoffLimitExceeded,
			},
			phase: v1alpha1.PhaseFailed,
			jobs:  map[string]int{"etl-0": 1, "etl-1": 1},
		},
		"suspended and resumed": {
			object: func(s *story) *v1alpha1.SequentialJob { return s.steps("etl", 1) },
			drive: func(s *story) {
				s.awaitRunning("etl", 0)
				s.awaitPhase("etl", v1alpha1.PhaseRunning)
				s.patchSpec("etl", map[string]any{"suspend": true})
				s.awaitPhase("etl", v1alpha1.PhaseSuspended)
				s.Await("the step to stop", func() bool { return len(s.pods("etl", 0)) == 0 })
				s.patchSpec("etl", map[string]any{"suspend": false})
				s.awaitRunning("etl", 0)
				s.awaitPhase("etl", v1alpha1.PhaseRunning)
				s.complete("etl", 0)
			},
			writes: 2 + 3 + 2 + 1, // the suspension is reported when its pods have yet to end, and when they have
			more:   2,             // so is what a slow Job controller has yet to do after either change
			want:   v1alpha1.SequentialJobProgress{CurrentIndex: ptr.To[int32](1), CompletedIndices: []int32{0}},
			phase:  v1alpha1.PhaseSucceeded,
			jobs:   map[string]int{"etl-0": 1},
		},
		"deadline": {
			object: func(s *story) *v1alpha1.SequentialJob {
				object := s.steps("etl", 2)
				object.Spec.ActiveDeadlineSeconds = ptr.To[int64](2)
				return object
			},
			// Its own deadline may stop the Job, or we do, and say so.
			writes: 2 + 2 + 1,
			more:   2,
			want: v1alpha1.SequentialJobProgress{
				CurrentIndex: ptr.To[int32](0),
				FailedIndex:  ptr.To[int32](0), FailureReason: v1alpha1.ReasonDeadlineExceeded,
			},
			phase: v1alpha1.PhaseFailed,
			jobs:  map[string]int{"etl-0": 1},
		},
		"run again": {
			object: func(s *story) *v1alpha1.SequentialJob { return s.steps("etl", 1) },
			drive: func(s *story) {
				s.fail("etl", 0)
				s.awaitPhase("etl", v1alpha1.PhaseFailed)
				failed := s.job("etl-0").UID
				s.retry("etl", "1")
				s.Await("another Job", func() bool { job := s.job("etl-0"); return job != nil && job.UID != failed })
				s.complete("etl", 0)
			},
			writes: 3 + 3 + 2 + 1, // in the middle: status, the deletion of the old Job, and that it is on its way
			more:   1,             // what the pod says that failed, if it is seen before its Job has failed
			want:   v1alpha1.SequentialJobProgress{CurrentIndex: ptr.To[int32](1), CompletedIndices: []int32{0}},
			phase:  v1alpha1.PhaseSucceeded,
			jobs:   map[string]int{"etl-0": 2},
		},
		"stopped": {
			object: func(s *story) *v1alpha1.SequentialJob { return s.steps("etl", 2) },
			drive: func(s *story) {
				s.awaitRunning("etl", 0)
				began := s.awaitPhase("etl", v1alpha1.PhaseRunning).Status.StartTime
				s.Await("a second to pass", func() bool { return time.Since(began.Time) > 2*time.Second })
				s.patchSpec("etl", map[string]any{"activeDeadlineSeconds": 1})
			},
			writes: 2 + 2 + 3, // the last three stop the Job, say so, and say that it has stopped
			want: v1alpha1.SequentialJobProgress{
				CurrentIndex: ptr.To[int32](0),
				FailedIndex:  ptr.To[int32](0), FailureReason: v1alpha1.ReasonDeadlineExceeded,
			},
			phase: v1alpha1.PhaseFailed,
			jobs:  map[string]int{"etl-0": 1},
		},
	}

	t.Parallel()
	victims := victims.Take(t)
	t.Cleanup(func() {
		assert.NoError(t, victims.StartComponent(context.Background(), controlplane.PodSequenceController))
	})
	require.NoError(t, victims.Kill(t.Context(), controlplane.PodSequenceController))
	for name, scenario := range scenarios {
		play := func(t *testing.T, k *killer) {
			t.Parallel()
			s := newStoryIn(t, victims)
			count := s.countJobs()
			s.startController(k)
			s.Create(scenario.object(s))
			if scenario.drive != nil {
				scenario.drive(s)
			}
			object := s.awaitPhase("etl", scenario.phase)
			assert.Equal(t, scenario.want, object.Status.Progress)
			assert.Equal(t, scenario.jobs, count(), "Jobs created")
			if k.at >= 0 {
				assert.Greater(t, k.writes, k.at, "the controller was not killed")
			} else {
				assert.GreaterOrEqual(t, k.writes, scenario.writes)
				const slow = 2 // that a pod of a slow machine has yet to start, and that it runs
				assert.LessOrEqual(t, k.writes, scenario.writes+scenario.more+slow)
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Run("not killed", func(t *testing.T) { play(t, newKiller(-1, false)) })
			for at := range scenario.writes {
				t.Run(fmt.Sprintf("before write %d", at), func(t *testing.T) { play(t, newKiller(at, false)) })
				t.Run(fmt.Sprintf("after write %d", at), func(t *testing.T) { play(t, newKiller(at, true)) })
			}
		})
	}
}
