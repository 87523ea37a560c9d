package deploymentcoordination

import (
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/internal/printable"
)

// refusal is a write of a Deployment that the API server has refused, for a reason other than that the Deployment has
// changed meanwhile: by an admission policy or webhook, for want of a permission, or because it is busy.
type refusal struct {
	// pause says that it was to be paused, and not unpaused.
	pause   bool
	message string
	// times counts them in a row. The write is not tried again before until.
	times int
	until time.Time
}

// due reports whether to try again.
func (r *refusal) due(now time.Time) bool { return !now.Before(r.until) }

// sooner returns the earlier of two times; zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// answered reports whether the error is an answer of the API server. Else nothing is known of this Deployment in particular:
// the API server cannot be reached, or we are about to end.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// hasChanged reports whether a write failed because the object is no longer what it was decided from, or is gone. The event
// that tells of it leads back here. No event follows when an admission webhook answers with the same codes.
func hasChanged(err error) bool {
	var status apierrors.APIStatus
	return (apierrors.IsConflict(err) || apierrors.IsNotFound(err)) && errors.As(err, &status) &&
		!strings.HasPrefix(status.Status().Message, "admission webhook ")
}

// shorten cuts what others have to say, who may have much.
func shorten(message string) string {
	const most = 300
	message = printable.Line(message)
	if runes := []rune(message); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return message
}

// refusalReasons are what the states of Deployments say of refusals, the gravest first.
var refusalReasons = []string{v1.ReasonPauseFailed, v1.ReasonUnpauseFailed}
