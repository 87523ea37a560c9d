package deploymentcoordination

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "example.com/podsequence/apis/apps/v1"
)

const (
	// settleTime is how long the first of some changes waits for others that come with it. Whoever applies a set of
	// Deployments does not do so in the order in which they are to roll out.
	settleTime = time.Second
	// firstRevertBackOff is how long a Deployment is left alone that somebody else has unpaused out of its turn. Each
	// time that follows doubles it.
	firstRevertBackOff = 30 * time.Second
	// maxRevertBackOff is the longest that it becomes.
	maxRevertBackOff = 10 * time.Minute
)

// Input is all that a decision is made from.
type Input struct {
	Coordination *v1.DeploymentCoordination
	// Members are the Deployments that match, sorted by name.
	Members []Member
	// Overlapping are the coordinations that match some of the same Deployments, or do so by way of others; sorted.
	Overlapping []string
	// Busy is the active Deployment of one of these, as namespace/name; empty if none of them has any.
	Busy string
	// ReadySince is since when the pods of the active Deployment's rollout have been ready; nil if they are not. It is only
	// looked at when the Deployment has rolled out and the coordination has minReadySeconds.
	ReadySince *time.Time
	Now        time.Time
}

// Decision is what is to be done: in this order.
type Decision struct {
	// Pause are the Deployments to pause.
	Pause []types.NamespacedName
	// Status is what is to be on record once they are paused, and before anything is unpaused.
	Status v1.DeploymentCoordinationStatus
	// Unpause are the Deployments to unpause.
	Unpause []types.NamespacedName
	// Unmark are Deployments that carry our mark and are not paused.
	Unmark []types.NamespacedName
	// Again is when to decide anew even if nothing changes; zero if never.
	Again time.Time
}

// Decide says who is active, who gets paused or unpaused, and when to look again.
func Decide(in Input) Decision {
	d := deliberate(in)
	d.reviewActive()
	if d.status.ActiveDeployment == "" && in.Busy == "" {
		d.activateNext()
	}
	for i := range d.members {
		d.hold(&d.members[i])
	}
	d.describe()
	d.decision.Status = *d.status
	return d.decision
}

// deliberation is a decision in the making.
type deliberation struct {
	Input
	members  []member
	status   *v1.DeploymentCoordinationStatus
	decision Decision
	// halted says why nothing more happens until the active Deployment is mended; empty if it is not so.
	halted string
}

// member is a Member, its state as it was on record, and as it will be.
type member struct {
	*Member
	before *v1.DeploymentState // nil if there was none
	state  *v1.DeploymentState
}

func deliberate(in Input) *deliberation {
	status := in.Coordination.Status.DeepCopy()
	status.ObservedGeneration = in.Coordination.Generation
	status.Deployments = nil
	status.DeploymentStates = make([]v1.DeploymentState, len(in.Members))
	d := &deliberation{Input: in, status: status}
	known := recordsOf(&in.Coordination.Status)
	for i := range in.Members {
		m := &in.Members[i]
		before := known.of(m)
		status.DeploymentStates[i] = newState(m, before, in.Now)
		status.Deployments = append(status.Deployments, m.name())
		d.members = append(d.members, member{Member: m, before: before, state: &status.DeploymentStates[i]})
	}
	return d
}

// active returns the active member, or nil.
func (d *deliberation) active() *member {
	for i := range d.members {
		if d.isActive(&d.members[i]) {
			return &d.members[i]
		}
	}
	return nil
}

func (d *deliberation) isActive(m *member) bool { return d.status.ActiveDeployment == m.name() }

// reviewActive takes the turn from a Deployment that is gone, ready, held by a PodSequence, or to be skipped.
func (d *deliberation) reviewActive() {
	m := d.active()
	if m == nil || m.before == nil || m.Elsewhere {
		d.status.ActiveDeployment = ""
		return
	}
	if m.before.TemplateHash != m.state.TemplateHash {
		m.startRollout(d.Now) // such as a rollback: a new rollout in the same turn
	}
	if d.isReady(m) {
		d.status.ActiveDeployment = ""
		return
	}
	if d.passOn(m) {
		return
	}
	d.halted = d.failure(m)
	if d.halted != "" && d.Coordination.Spec.OnTimeout == v1.TimeoutSkip {
		if m.state.HasPendingChanges {
			m.state.Skipped = d.halted
		}
		d.status.ActiveDeployment, d.halted = "", ""
	}
}

// isReady tells whether the active Deployment has rolled out and has been ready for long enough.
func (d *deliberation) isReady(m *member) bool {
	if m.state.HasPendingChanges {
		return false
	}
	if d.Coordination.Spec.MinReadySeconds == 0 {
		return true
	}
	if d.ReadySince == nil {
		return false // a pod of the rollout is not ready, or no more
	}
	return d.reached(waitOver(*d.ReadySince, m.state.LastRolloutFinished, d.Coordination.Spec.MinReadySeconds))
}

// waitOver is when pods that have been ready since then have been so for minReadySeconds after their rollout.
func waitOver(since time.Time, finished *metav1.Time, minReadySeconds int32) time.Time {
	if finished != nil && finished.After(since) {
		since = finished.Time
	}
	return nextSecond(since).Add(time.Duration(minReadySeconds) * time.Second)
}

// failure says why the active Deployment's rollout is given up, if it is.
func (d *deliberation) failure(m *member) string {
	if m.state.HasPendingChanges && m.progressDeadlineExceeded(m.state.LastRolloutStarted) {
		return v1.ReasonProgressDeadlineExceeded
	}
	timeout := d.Coordination.Spec.RolloutTimeoutSeconds
	if timeout == nil || m.state.LastRolloutStarted == nil {
		return ""
	}
	deadline := nextSecond(m.state.LastRolloutStarted.Time).Add(time.Duration(*timeout) * time.Second)
	if d.reached(deadline) {
		return v1.ReasonRolloutTimedOut
	}
	return ""
}

// activateNext gives the turn to a Deployment that rolls out already, because somebody unpaused it, and else to the next
// that waits.
func (d *deliberation) activateNext() {
	for i := range d.members {
		if m := &d.members[i]; m.waits() && m.state.PauseReverts > 0 && m.pause() == unpaused {
			d.activate(m)
			return
		}
	}
	if next := d.next(); next != nil {
		d.activate(next)
	}
}

// next is the Deployment whose turn comes now: the first of those that wait and whose pods nobody would hold, and if all
// would be held the first of these. It is nil if none waits, or if others may yet come with those that do.
func (d *deliberation) next() *member {
	var next *member
	var oldest time.Time
	for i := range d.members {
		m := &d.members[i]
		if !m.waits() || (next != nil && m.isHeld() && !next.isHeld()) {
			continue
		}
		if next == nil || (next.isHeld() && !m.isHeld()) {
			next, oldest = m, m.state.PendingSince.Time
		}
		if since := m.state.PendingSince.Time; since.Before(oldest) {
			oldest = since
		}
	}
	if next == nil || !d.reached(oldest.Add(settleTime)) {
		return nil
	}
	return next
}

// passOn gives the turn of a Deployment whose pods a PodSequence holds to one whose pods nobody holds. The first may be
// held until the second has rolled out: then they would wait for each other. It reports whether it did.
func (d *deliberation) passOn(m *member) bool {
	mayPause := m.pause() == pausedByUs || (m.pause() == unpaused && d.backedOff(m))
	if !m.isHeld() || !mayPause || d.Busy != "" {
		return false
	}
	next := d.next()
	if next == nil || next.isHeld() {
		return false
	}
	d.activate(next)
	return true
}

// isHeld reports whether a PodSequence would hold the pods of the Deployment's rollout.
func (m *member) isHeld() bool { return m.state.HeldBy != "" }

// waits tells whether it can be the Deployment's turn.
func (m *member) waits() bool {
	return m.state.HasPendingChanges && !m.Elsewhere && m.state.Skipped == "" && m.pause() != pausedByOwner
}

func (d *deliberation) activate(m *member) {
	d.status.ActiveDeployment = m.name()
	m.startRollout(d.Now)
}

// hold says whether the Deployment is to be paused, and has it so.
func (d *deliberation) hold(m *member) {
	m.state.Paused = false
	if m.Elsewhere {
		return
	}
	mayRoll := d.isActive(m) || !m.state.HasPendingChanges
	switch m.pause() {
	case pausedByUs:
		if mayRoll {
			d.decision.Unpause = append(d.decision.Unpause, m.key())
		} else {
			m.state.Paused = true
		}
	case unpaused:
		if !mayRoll && d.backedOff(m) {
			d.decision.Pause = append(d.decision.Pause, m.key())
			m.state.Paused = true
		} else if marked(m.Deployment) != "" {
			d.decision.Unmark = append(d.decision.Unmark, m.key())
		}
	}
}

// backedOff tells whether a Deployment may be paused that is not: at once, unless somebody else unpaused it.
func (d *deliberation) backedOff(m *member) bool {
	if m.state.PauseReverts <= 0 || m.state.PauseRevertedAt == nil { // status is read back, and may say anything
		return true
	}
	wait := firstRevertBackOff << min(m.state.PauseReverts-1, 10)
	return d.reached(nextSecond(m.state.PauseRevertedAt.Time).Add(min(wait, maxRevertBackOff)))
}

// reached tells whether it is time, and if not, sees to it that we look again then.
func (d *deliberation) reached(at time.Time) bool {
	if !d.Now.Before(at) {
		return true
	}
	if d.decision.Again.IsZero() || at.Before(d.decision.Again) {
		d.decision.Again = at
	}
	return false
}

// nextSecond is the first moment that surely is not before what an API timestamp, which is cut to whole seconds, stands
// for.
func nextSecond(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }
