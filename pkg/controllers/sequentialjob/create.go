package sequentialjob

import (
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// refusedBefore is the obstacle that the object's status tells of.
func refusedBefore(w world) *obstacle {
	message := strings.TrimPrefix(w.object.Status.Message, progressOf(w).step()+": ")
	return &obstacle{reason: v1alpha1.ReasonJobCreateFailed, message: message}
}

// attemptCost is how many small writes it costs to ask for a Job that is refused: the request, the read before it, the status
// and the event.
const attemptCost = 4

// maxPostponed is how soon a postponed object is looked at again: the API server may accept Jobs by then.
const maxPostponed = 5 * time.Second

// errPostponed is the error of a pass that has to wait for others.
var errPostponed = errors.New("the API server refuses Jobs of the namespace: waiting to ask for the next")

// isAnswer reports whether the API server itself answered.
func isAnswer(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer)
}

// isFieldError reports whether the API server itself found fields of the Job to be wrong, which no retry changes.
// Admission policies answer with the same reason, but name no field. What webhooks answer is their own choice; the API
// server puts before it whose answer it is.
func isFieldError(err error) bool {
	if isUnknownField(err) {
		return true
	}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || !apierrors.IsInvalid(err) {
		return false
	}
	status := answer.Status()
	if strings.HasPrefix(status.Message, "admission webhook ") || status.Details == nil || len(status.Details.Causes) == 0 {
		return false
	}
	return !slices.ContainsFunc(status.Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "" })
}
