package deploymentcoordination

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "example.com/podsequence/apis/apps/v1"
)

// newState brings the record of a Deployment up to date with what the API says of it.
func newState(m *Member, before *v1.DeploymentState, now time.Time) v1.DeploymentState {
	state := v1.DeploymentState{Name: m.name(), UID: m.Deployment.UID}
	if before != nil {
		state = *before.DeepCopy()
	}
	state.LastRolloutStarted, state.LastRolloutFinished = byNow(state.LastRolloutStarted, now), byNow(state.LastRolloutFinished, now)
	state.Generation = m.Deployment.Generation
	state.HasPendingChanges = !m.rolledOut(before)
	state.TemplateHash = m.templateHash()
	state.HeldBy, state.Refused = "", ""
	if m.Elsewhere { // whose turn it is to say so
		state.Skipped = ""
	}
	if !state.HasPendingChanges {
		noteRolledOut(&state, m, before, now)
		return state
	}
	if m.Hold.Held() {
		state.HeldBy = m.Hold.Sequence.String()
	}
	if state.PendingSince == nil || state.PendingSince.After(now) {
		state.PendingSince = micro(now)
	}
	if before != nil {
		noteResumed(&state, m, before, now)
	}
	return state
}

// noteResumed notes that its owner has taken the Deployment out of the order, be it out of its turn or because it was
// skipped: then it rolls out. What is changed once more is another rollout, and has to wait.
func noteResumed(state *v1.DeploymentState, m *Member, before *v1.DeploymentState, now time.Time) {
	switch {
	case before.TemplateHash != state.TemplateHash:
		state.Resumed = false
		if state.Skipped != "" { // it has had its turn
			state.Skipped, state.PendingSince = "", micro(now)
		}
	case m.pause() != unpaused || m.Elsewhere:
		state.Resumed = false
	case m.takenOut() && !before.Resumed:
		state.Resumed, state.Skipped, state.LastRolloutStarted = true, "", seconds(now)
	}
}

// noteRolledOut is for a state without pending changes: what was said of them is void.
func noteRolledOut(state *v1.DeploymentState, m *Member, before *v1.DeploymentState, now time.Time) {
	// A change that was taken back before its turn came was no rollout.
	if before != nil && before.HasPendingChanges && !before.Paused {
		state.LastRolloutFinished = seconds(now)
	}
	if finished := m.finishedSince(); finished != nil && !finished.Before(state.LastRolloutStarted) &&
		(before == nil || before.HasPendingChanges) {
		state.LastRolloutFinished = byNow(finished, now)
	}
	if before == nil || before.HasPendingChanges {
		state.RolloutReplicas = new(m.replicas())
	}
	state.RolledOutTemplateHash = state.TemplateHash
	state.PendingSince, state.Skipped, state.Resumed = nil, "", false
}

// byNow returns a time, or now if that is yet to come: the clock that it is of was wrong, and nobody is to wait for it.
func byNow(t *metav1.Time, now time.Time) *metav1.Time {
	if t != nil && t.After(now) {
		return seconds(now)
	}
	return t
}

// seconds is how the API keeps times: with a fraction, what is written would differ from what is read back.
func seconds(t time.Time) *metav1.Time { return &metav1.Time{Time: t.Truncate(time.Second)} }

func micro(t time.Time) *metav1.MicroTime {
	return &metav1.MicroTime{Time: t.Truncate(time.Microsecond)}
}
