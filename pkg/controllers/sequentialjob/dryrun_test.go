package sequentialjob

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// newOfThree is a cluster with an object of three steps that refuses Jobs as the test says, by their names.
func newOfThree(t *testing.T, refusals map[string]error) *quota {
	q := newQuota(t, map[string]int{"data": 1})
	q.changeObject(func(object *v1alpha1.SequentialJob) {
		object.Spec.Containers = []corev1.Container{{Name: "a", Image: "i"}, {Name: "b", Image: "i"}, {Name: "c", Image: "i"}}
	})
	q.refuses = func(job *batchv1.Job) error { return refusals[job.Name] }
	return q
}

func TestAMistakeInALaterStepIsFoundBeforeTheFirstStarts(t *testing.T) {
	q := newOfThree(t, map[string]error{"s-00-2": invalidJob("nowhere")})
	recorder := events.NewFakeRecorder(100)
	q.recorder = recorder
	q.pass(time.Minute)
	status := q.status("data", "s-00")
	assert.Equal(t, v1alpha1.PhaseFailed, status.Phase)
	assert.Equal(t, v1alpha1.SequentialJobProgress{
		CurrentIndex: ptr.To[int32](0), FailedIndex: ptr.To[int32](2), FailureReason: v1alpha1.ReasonInvalidSpec,
	}, status.Progress)
	assert.Contains(t, status.Message, `step 3/3 "c": `)
	assert.Contains(t, status.Message, `Not found: "nowhere"`)
	assert.Contains(t, status.Message, "no step was started")
	assert.Empty(t, q.tries, "Jobs that were asked for")
	require.Len(t, recorder.Events, 1)
	assert.Contains(t, <-recorder.Events, "Warning InvalidSpec step 3/3")
}

func TestWhatAnswersToADryRunMean(t *testing.T) {
	for name, tc := range map[string]struct {
		refusals map[string]error
		phase    v1alpha1.Phase
		says     string
		dryRuns  int
		started  bool
	}{
		"all steps are accepted": {phase: v1alpha1.PhaseRunning, dryRuns: 3, started: true},
		"a later step is refused by a policy: it would be, and may not be later": {
			refusals: map[string]error{"s-00-1": deniedByPolicy()}, phase: v1alpha1.PhasePending, dryRuns: 2,
			says: `step 1/3 "a": waits, because the API server would refuse Job s-00-1 of step 2/3 "b", will retry: `,
		},
		"a later step is refused by a webhook": {
			refusals: map[string]error{"s-00-2": deniedByWebhook()}, phase: v1alpha1.PhasePending, dryRuns: 3, says: "would refuse Job s-00-2",
		},
		"a webhook that does not support it: nobody knows": {
			refusals: map[string]error{"s-00-1": apierrors.NewBadRequest("admission webhook \"jobs.example.com\" does not support dry run")},
			phase:    v1alpha1.PhaseRunning, dryRuns: 2, started: true,
		},
		"a Job of somebody else has the name: it may be gone by then": {
			refusals: map[string]error{"s-00-1": apierrors.NewAlreadyExists(batchv1.Resource("jobs"), "s-00-1")},
			phase:    v1alpha1.PhaseRunning, dryRuns: 3, started: true,
		},
		"a quota refuses the first step as well": {
			refusals: map[string]error{
				"s-00-0": apierrors.NewForbidden(batchv1.Resource("jobs"), "s-00-0", errors.New("exceeded quota")), "s-00-1": invalidJob("nowhere"),
			},
			phase: v1alpha1.PhasePending, dryRuns: 1, says: "the API server refuses Job s-00-0",
		},
		"no answer: the pass is repeated": {
			refusals: map[string]error{"s-00-1": errors.New("connection refused")}, dryRuns: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := newOfThree(t, tc.refusals)
			q.pass(0)
			status := q.status("data", "s-00")
			assert.Equal(t, tc.phase, status.Phase, status.Message)
			assert.Contains(t, status.Message, tc.says)
			assert.Len(t, q.dryRuns, tc.dryRuns)
			assert.Equal(t, tc.started, len(q.tries) > 0, "the first step was asked for")
		})
	}
}

func TestAStepThatAPolicyWouldRefuseStartsWhenThePolicyAllowsIt(t *testing.T) {
	refusals := map[string]error{"s-00-2": deniedByPolicy()}
	q := newOfThree(t, refusals)
	recorder := events.NewFakeRecorder(100)
	q.recorder = recorder
	q.pass(time.Hour)
	assert.Equal(t, v1alpha1.ReasonJobCreateFailed, progressingReason(q.status("data", "s-00")))
	assert.Len(t, recorder.Events, 1, "it is reported once")
	assert.Less(t, len(q.dryRuns), 3*int(time.Hour/maxRetry+10), "dry runs within an hour")
	assert.Empty(t, q.tries)
	delete(refusals, "s-00-2")
	q.pass(maxRetry)
	assert.Equal(t, v1alpha1.PhaseRunning, q.status("data", "s-00").Phase)
	assert.Equal(t, []string{"data/s-00-0"}, q.tries)
}

func TestStepsAreCheckedOnceForEachGeneration(t *testing.T) {
	q := newOfThree(t, nil)
	full := apierrors.NewForbidden(batchv1.Resource("jobs"), "s-00-0", errors.New("exceeded quota"))
	q.refuses = func(*batchv1.Job) error {
		if len(q.tries) > 0 {
			return full // it fills up after the check
		}
		return nil
	}
	q.pass(time.Hour)
	assert.Len(t, q.dryRuns, 3)
	assert.Greater(t, len(q.tries), 10)
	q.tries = nil
	q.changeObject(func(object *v1alpha1.SequentialJob) { object.Generation++ })
	q.pass(time.Hour)
	assert.Len(t, q.dryRuns, 6)
	assert.Greater(t, len(q.tries), 10)

	q.refuses = func(*batchv1.Job) error { return nil }
	q.pass(maxRetry)
	q.changeStatus(complete)
	q.look()
	assert.Equal(t, []int32{0}, q.status("data", "s-00").Progress.CompletedIndices)
	assert.Len(t, q.dryRuns, 6, "the Job of the first step shows that later ones were checked")
	assert.Empty(t, q.checked.objects, "what is remembered of an object that runs")
}

func TestOneStepAloneNeedsNoDryRun(t *testing.T) {
	q := newQuota(t, map[string]int{"data": 1})
	q.refuses = func(*batchv1.Job) error { return nil }
	q.pass(0)
	assert.Equal(t, v1alpha1.PhaseRunning, q.status("data", "s-00").Phase)
	assert.Empty(t, q.dryRuns)
}
