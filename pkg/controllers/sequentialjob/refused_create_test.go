package sequentialjob

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// deniedByPolicy is what a ValidatingAdmissionPolicy answers that says nothing about reason: 422 without a field.
func deniedByPolicy() error {
	const message = "ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: no Jobs during the freeze"
	err := apierrors.NewForbidden(batchv1.Resource("jobs"), "s-00-0", errors.New(message))
	err.ErrStatus.Reason, err.ErrStatus.Code = metav1.StatusReasonInvalid, 422
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Message: message})
	return err
}

// invalidJob is what the API server answers when a field of the Job is wrong.
func invalidJob(message string) *apierrors.StatusError {
	return apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "s-00-0", field.ErrorList{
		field.NotFound(field.NewPath("spec", "template", "spec", "containers").Index(0).Child("volumeMounts"), message),
	})
}

// deniedByWebhook is the same from an admission webhook, as the API server passes it on.
func deniedByWebhook() error {
	err := invalidJob("nowhere")
	err.ErrStatus.Message = `admission webhook "jobs.example.com" denied the request: ` + err.ErrStatus.Message
	return err
}

func TestOnlyAFieldErrorOfTheAPIServerIsFinal(t *testing.T) {
	for name, tc := range map[string]struct {
		refusal error
		final   bool
		says    string
	}{
		"a quota": {
			refusal: apierrors.NewForbidden(batchv1.Resource("jobs"), "s-00-0", errors.New("exceeded quota")), says: "exceeded quota",
		},
		"an admission policy":                 {refusal: deniedByPolicy(), says: "no Jobs during the freeze"},
		"an admission webhook":                {refusal: deniedByWebhook(), says: "nowhere"},
		"an admission webhook that is down":   {refusal: apierrors.NewInternalError(errors.New("failed calling webhook")), says: "failed calling webhook"},
		"an admission webhook that is late":   {refusal: apierrors.NewTimeoutError("request did not complete", 0), says: "did not complete"},
		"an API server that has too much":     {refusal: apierrors.NewTooManyRequestsError("later"), says: "later"},
		"an API server that is not available": {refusal: apierrors.NewServiceUnavailable("not now"), says: "not now"},
		"a bad request":                       {refusal: apierrors.NewBadRequest("denied"), says: "denied"},
		"a field of the Job":                  {refusal: invalidJob("nowhere"), says: "nowhere", final: true},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQuota(t, map[string]int{"full": 1})
			recorder := events.NewFakeRecorder(100)
			q.recorder = recorder
			q.refuses = func(*batchv1.Job) error { return tc.refusal }
			q.pass(10 * time.Minute)
			status := q.status("full", "s-00")
			assert.Contains(t, status.Message, tc.says)
			var published []string
			for len(recorder.Events) > 0 {
				published = append(published, <-recorder.Events)
			}
			require.Len(t, published, 1, "it is reported once")
			if tc.final {
				assert.Equal(t, v1alpha1.PhaseFailed, status.Phase)
				assert.Equal(t, v1alpha1.ReasonInvalidSpec, failureReason(status))
				return
			}
			assert.Equal(t, v1alpha1.PhasePending, status.Phase)
			assert.True(t, isRefused(status))
			assert.Contains(t, status.Message, "will retry")
			assert.True(t, strings.HasPrefix(published[0], "Warning JobCreateFailed"), published[0])

			q.tries = nil
			q.pass(time.Hour)
			assert.InDelta(t, int(time.Hour/maxRetry), len(q.tries), 1, "tries within an hour")
			assert.Empty(t, recorder.Events)
			q.refuses = func(*batchv1.Job) error { return nil }
			q.pass(maxRetry)
			assert.Equal(t, v1alpha1.PhaseRunning, q.status("full", "s-00").Phase)
		})
	}
}

func TestARefusalThatCouldNotBeNotedIsTriedAgainAndNoted(t *testing.T) {
	q := newQuota(t, map[string]int{"full": 2})
	recorder := events.NewFakeRecorder(100)
	q.recorder = recorder
	conflicts := 2
	q.writer = conflicting{q.client, &conflicts}
	q.pass(time.Second)
	q.wake(keyOf(objectMeta("full", "s-00")), 0)
	q.wake(keyOf(objectMeta("full", "s-01")), 0)
	q.pass(0)
	for _, name := range []string{"s-00", "s-01"} {
		assert.Contains(t, q.status("full", name).Message, "exceeded quota", name)
	}
	for len(recorder.Events) > 0 {
		assert.Contains(t, <-recorder.Events, "exceeded quota")
	}
}

// conflicting refuses so many writes of status because somebody else was faster.
type conflicting struct {
	client.Client
	left *int
}

func (c conflicting) Status() client.SubResourceWriter {
	return conflictingStatus{c.Client.Status(), c.left}
}

type conflictingStatus struct {
	client.SubResourceWriter
	left *int
}

func (c conflictingStatus) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	if *c.left > 0 {
		*c.left--
		return apierrors.NewConflict(v1alpha1.SequentialJobResource.GroupResource(), object.GetName(), nil)
	}
	return c.SubResourceWriter.Update(ctx, object, options...)
}
