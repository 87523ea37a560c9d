package deploymentcoordination

import (
	"context"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

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

// noteRefusal notes that a Deployment could not be paused or unpaused. It is tried again, each time after twice as long.
func (t *turn) noteRefusal(ctx context.Context, m *Member, pause bool, err error) {
	r := &refusal{pause: pause, message: shorten(err.Error())}
	if before := t.refusals[m.Deployment.UID]; before != nil && before.pause == pause {
		r.times = before.times
	}
	wait := backOff(r.times)
	r.until = t.clock.Now().Add(wait)
	r.times++
	t.refusals[m.Deployment.UID], m.Refused = r, r
	klog.FromContext(ctx).Error(err, "The API server refused a write, will retry", "deployment", m.key(), "after", wait)
}

// due reports whether to try again.
func (r *refusal) due(now time.Time) bool { return !now.Before(r.until) }

// retry is when to look again: when what was refused may be tried again, or before.
func (d *Decision) retry(in Input) time.Time {
	again := d.Again
	for i := range in.Members {
		if r := in.Members[i].Refused; r != nil && !r.due(in.Now) {
			again = sooner(again, r.until)
		}
	}
	return again
}

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

// cannotPause reports whether the Deployment is unpaused because it could not be paused.
func (m *member) cannotPause() bool {
	return m.Refused != nil && m.Refused.pause && m.pause() == unpaused
}

// cannotUnpause reports whether the Deployment is paused because it could not be unpaused.
func (m *member) cannotUnpause() bool {
	return m.Refused != nil && !m.Refused.pause && m.pause() == pausedByUs
}

// maySet reports whether to pause or unpause the Deployment now. That the opposite was refused says nothing of this.
func (d *deliberation) maySet(m *member, paused bool) bool {
	return m.Refused == nil || m.Refused.pause != paused || m.Refused.due(d.Now)
}

// refusedBy names those of which a write was refused, and says why the first was.
func (d *deliberation) refusedBy(reason string) (names []string, message string) {
	for i := range d.members {
		if m := &d.members[i]; m.state.Refused == reason {
			names = append(names, m.name())
			if message == "" {
				message = m.Refused.message
			}
		}
	}
	return names, message
}

// refusalReasons are what the states of Deployments say of refusals, the gravest first.
var refusalReasons = []string{v1.ReasonPauseFailed, v1.ReasonUnpauseFailed}
