package readiness

import (
	"slices"
	"time"
)

// SinceFacts are what says since when a group is satisfied.
//
// Times come from the API: from the pods' conditions, from the creation of objects, and from status, where the controller
// records what objects do not say any more. What the engine itself saw is only used where nothing is recorded yet, so that a
// restart makes a wait or a time-out end later, but never earlier.
type SinceFacts struct {
	// Satisfied reports whether the group is satisfied. Before reports whether it was before this event, SinceBefore since when.
	Satisfied, Before bool
	SinceBefore       time.Time
	// FirstLook reports that the group is looked at for the first time.
	FirstLook bool
	// Turned is the latest Ready time of the pods whose readiness this event brought; zero if it brought none.
	Turned time.Time
	// Waits reports that the group has a waitDuration, which begins anew after each break.
	Waits bool
	// Recorded is since when the group is satisfied as status says; zero if it says that the group is not. IsRecorded reports
	// that it speaks of the group as it is defined now, RecordedAt when it was last written. They matter at the first look.
	Recorded   time.Time
	IsRecorded bool
	RecordedAt time.Time
	// Now is zero before the first tick.
	Now time.Time
}

// Since returns since when the group is satisfied, without a break as far as anything says; zero if it is not. ready returns when
// the last of the pods that the group needs turned ready, as the pods themselves say; zero if it needs none. It may look at many of
// them, so it is only called where it matters.
func (f *SinceFacts) Since(ready func() time.Time) time.Time {
	switch {
	case !f.Satisfied:
		return time.Time{}
	case f.FirstLook:
		return f.sinceFirstLook(ready())
	case !f.Before && f.Turned.IsZero():
		// Something else than a pod's readiness completed it, and no object says when.
		return latest(f.Now.Truncate(time.Second), f.notLaterThanNow(ready()))
	case !f.Before:
		return f.notLaterThanNow(latest(f.Turned, ready()))
	case f.Waits && f.Turned.After(f.SinceBefore):
		// A pod that is needed turned ready again: there was a break, even if only its end was seen.
		return latest(f.SinceBefore, f.notLaterThanNow(ready()))
	}
	return f.SinceBefore
}

func (f *SinceFacts) sinceFirstLook(ready time.Time) time.Time {
	var since time.Time
	switch {
	case !f.IsRecorded:
		since = ready
	case !f.Recorded.IsZero() && f.Waits:
		since = latest(f.Recorded, ready)
	case !f.Recorded.IsZero():
		since = f.Recorded
	case ready.After(f.RecordedAt):
		since = ready
	default:
		// The pods were ready when status said that the group was not. Whatever completed it since, nothing says when.
		since = f.Now
	}
	if since.IsZero() {
		since = f.Now
	}
	return f.notLaterThanNow(since).Truncate(time.Second)
}

// notLaterThanNow takes a time in the future for now. Before the first tick there is no future.
func (f *SinceFacts) notLaterThanNow(t time.Time) time.Time {
	if !f.Now.IsZero() && t.After(f.Now) {
		return f.Now.Truncate(time.Second)
	}
	return t
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
