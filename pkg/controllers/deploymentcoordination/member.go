package deploymentcoordination

import (
	"time"

	v1 "example.com/podsequence/apis/apps/v1"
)

// member is a Member, its state as it was on record, and as it will be.
type member struct {
	*Member
	before *v1.DeploymentState // nil if there was none
	state  *v1.DeploymentState
	// wasActive says that it was its turn.
	wasActive bool
}

// isHeld reports whether a PodSequence would hold the pods of the Deployment's rollout.
func (m *member) isHeld() bool { return m.state.HeldBy != "" }

// waits reports whether it can be the Deployment's turn.
func (m *member) waits() bool {
	return m.state.HasPendingChanges && !m.Elsewhere && m.state.Skipped == "" && m.pause() != pausedByOwner
}

// rolls reports whether the Deployment rolls out without having been given a turn, and is not to be paused for that: somebody
// has unpaused it, it was rolling when it came under coordination, or it cannot be paused. As long as it does, it has the turn or shares it.
func (m *member) rolls() bool {
	return m.waits() && m.pause() == unpaused && (m.state.Resumed || m.cameRolling() || m.cannotPause())
}

// cameRolling reports whether the Deployment is in the middle of a rollout that has not been in our hands so far: it is seen for
// the first time, or was in the hands of another coordination, or its owner had paused it halfway.
func (m *member) cameRolling() bool {
	return m.hasBegun() && (m.before == nil || (!m.wasActive && m.before.HasPendingChanges && !m.before.Paused &&
		m.before.Skipped == "" && m.before.Refused == "" && m.before.TemplateHash == m.state.TemplateHash))
}

func (m *member) isPending() bool { return m.state.HasPendingChanges }

// cannotPause reports whether the Deployment is unpaused because it could not be paused.
func (m *member) cannotPause() bool {
	return m.Refused != nil && m.Refused.pause && m.pause() == unpaused
}

// cannotUnpause reports whether the Deployment is paused because it could not be unpaused.
func (m *member) cannotUnpause() bool {
	return m.Refused != nil && !m.Refused.pause && m.pause() == pausedByUs
}

func (m *member) startRollout(now time.Time) { m.state.LastRolloutStarted = seconds(now) }
