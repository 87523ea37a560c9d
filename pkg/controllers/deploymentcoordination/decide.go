package deploymentcoordination

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/internal/printable"
)

// settleTime is how long the first of some changes waits for others that come with it. Whoever applies a set of Deployments
// does not do so in the order in which they are to roll out.
const settleTime = time.Second

// Input is all that a decision is made from.
type Input struct {
	Coordination *v1.DeploymentCoordination
	// Members are the Deployments that match, sorted by name.
	Members []Member
	// Overlapping are the coordinations that match some of the same Deployments, or do so by way of others; sorted.
	Overlapping []string
	// Busy is the active Deployment of one of these, as namespace/name; empty if none of them has any.
	Busy string
	// Rolling is a Deployment, as namespace/name, that rolls out in the hands of one of these, active or not; empty if none does.
	Rolling string
	// ReadySince is since when the pods of the active Deployment's rollout have been ready; nil if they are not. It is only
	// looked at when the Deployment has rolled out and the coordination has minReadySeconds.
	ReadySince *time.Time
	Now        time.Time
}

// Decision is what is to be done: in this order.
type Decision struct {
	// Pause are the Deployments to pause, or of which the annotations are to say who did, and why.
	Pause []types.NamespacedName
	// Status is what is to be on record once they are paused, and before anything is unpaused.
	Status v1.DeploymentCoordinationStatus
	// Unlisted are the states of Deployments that Status has no room for. They are remembered.
	Unlisted []v1.DeploymentState
	// Unpause are the Deployments to unpause.
	Unpause []types.NamespacedName
	// Unmark are Deployments that carry our annotations and are not paused.
	Unmark []types.NamespacedName
	// Unready says that the Deployment that was active loses its turn though it has not been ready for minReadySeconds.
	Unready bool
	// Again is when to decide anew even if nothing changes; zero if never.
	Again time.Time
}

// state returns what the decision says of a Deployment, as namespace/name; nil if it is in the hands of another coordination.
func (d *Decision) state(name string) *v1.DeploymentState {
	for _, states := range [][]v1.DeploymentState{d.Status.DeploymentStates, d.Unlisted} {
		for i := range states {
			if states[i].Name == name {
				return &states[i]
			}
		}
	}
	return nil
}

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

// activates reports whether the decision makes a Deployment roll out that did not before.
func (d *Decision) activates(c *v1.DeploymentCoordination) bool {
	active := d.Status.ActiveDeployment
	return active != "" && (active != c.Status.ActiveDeployment || slices.Contains(d.Unpause, namespacedName(active)))
}

// Decide says who is active, who gets paused or unpaused, and when to look again.
func Decide(in Input) Decision {
	d := deliberate(in)
	d.reviewActive()
	if d.status.ActiveDeployment == "" && in.Busy == "" {
		if next := d.successor(); next != nil {
			d.activate(next)
		}
	}
	for i := range d.members {
		d.hold(&d.members[i])
	}
	d.describe()
	d.list()
	d.decision.Status = *d.status
	return d.decision
}

// deliberation is a decision in the making.
type deliberation struct {
	Input
	members  []member
	status   *v1.DeploymentCoordinationStatus
	decision Decision
	// halted says why nothing more happens until the active Deployment is fixed; empty if it is not so.
	halted string
}

func deliberate(in Input) *deliberation {
	kept := in.Coordination.Status
	kept.Deployments, kept.DeploymentStates = nil, nil // these are made anew
	status := kept.DeepCopy()
	status.ObservedGeneration = in.Coordination.Generation
	d := &deliberation{Input: in, status: status}
	known := recordsOf(&in.Coordination.Status)
	for i := range in.Members {
		m := &in.Members[i]
		before := cmp.Or(m.Record, known[m.Deployment.UID])
		state := newState(m, before, in.Now)
		wasActive := status.ActiveDeployment == m.name()
		state.Resumed = state.Resumed && !wasActive
		d.members = append(d.members, member{Member: m, before: before, state: &state, wasActive: wasActive})
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
		d.clearActive()
		return
	}
	if m.before.TemplateHash != m.state.TemplateHash {
		m.startRollout(d.Now) // such as a rollback: a new rollout in the same turn
	}
	switch {
	case m.pause() == pausedByOwner:
		d.status.ActiveSince = nil
	case d.status.ActiveSince == nil:
		d.status.ActiveSince = seconds(d.Now)
	default:
		d.status.ActiveSince = byNow(d.status.ActiveSince, d.Now)
	}
	if d.isReady(m) {
		d.clearActive()
		return
	}
	if d.passOn(m) {
		return
	}
	d.halted = d.failure(m)
	switch {
	case d.halted == "" || d.Coordination.Spec.OnTimeout != v1.TimeoutSkip:
	case m.cannotPause() && !d.maySet(m, true):
		m.state.Refused = v1.ReasonPauseFailed
	default:
		if m.state.HasPendingChanges {
			m.state.Skipped = d.halted
		}
		d.decision.Unready = !m.state.HasPendingChanges
		d.clearActive()
		d.halted = ""
	}
}

// isReady reports whether the active Deployment has rolled out and has been ready for long enough.
func (d *deliberation) isReady(m *member) bool {
	if m.state.HasPendingChanges {
		return false
	}
	if d.Coordination.Spec.MinReadySeconds == 0 {
		return true
	}
	if d.ReadySince == nil { // a pod of the rollout is not ready, or no more
		d.reached(d.Now.Add(unreadyWait(d.Coordination.Spec.MinReadySeconds)))
		return false
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
	if m.state.HasPendingChanges {
		next, again := m.nextDeadline(m.state.LastRolloutStarted)
		if m.progressDeadlineExceeded(m.state.LastRolloutStarted) || again && d.reached(next) {
			return v1.ReasonProgressDeadlineExceeded
		}
	}
	timeout := d.Coordination.Spec.RolloutTimeoutSeconds
	if timeout == nil || d.status.ActiveSince == nil {
		return ""
	}
	deadline := nextSecond(d.status.ActiveSince.Time).Add(time.Duration(*timeout) * time.Second)
	if d.reached(deadline) {
		return v1.ReasonRolloutTimedOut
	}
	return ""
}

// successor is the Deployment whose turn comes now: one that rolls out already has it, so that nothing starts beside it.
// Else it is the first of those that wait and whose pods nobody would hold, and if all would be held the first of these. It
// is nil if none waits, if others may yet come with those that do, or if one rolls out in an overlapping coordination.
func (d *deliberation) successor() *member {
	if rolling, _ := d.first((*member).rolls); rolling != nil {
		return rolling
	}
	if d.Rolling != "" {
		return nil
	}
	next, since := d.first(func(m *member) bool { return m.waits() && !m.isHeld() })
	if next == nil {
		next, since = d.first((*member).waits)
	}
	if next == nil || !d.reached(since.Add(settleTime)) {
		return nil
	}
	return next
}

// first returns the Deployment that has waited longest, of those that satisfy the predicate. Changes that came together
// have waited equally long: of these it is the first by name. It also returns since when one has waited.
func (d *deliberation) first(satisfies func(*member) bool) (first *member, since time.Time) {
	var all []*member
	for i := range d.members {
		if m := &d.members[i]; satisfies(m) {
			all = append(all, m)
			if at := m.state.PendingSince.Time; len(all) == 1 || at.Before(since) {
				since = at
			}
		}
	}
	for _, m := range all {
		if m.state.PendingSince.Time.Before(since.Add(settleTime)) {
			return m, since
		}
	}
	return nil, since
}

// passOn gives the turn of a Deployment that cannot use it to another: one that waits, paused, while another one rolls out,
// and one whose pods a PodSequence holds while there is one whose pods nobody holds. The first may be held until the second
// has rolled out: then they would wait for each other. It reports whether it did.
func (d *deliberation) passOn(m *member) bool {
	if !m.state.HasPendingChanges || m.pause() == pausedByOwner || d.Busy != "" {
		return false
	}
	if rolling, _ := d.first(func(other *member) bool { return other != m && other.rolls() }); rolling != nil && m.pause() == pausedByUs {
		d.activate(rolling)
		return true
	}
	if !m.isHeld() || (m.cannotPause() && !d.maySet(m, true)) {
		return false
	}
	next := d.successor()
	if next == nil || next == m || next.isHeld() {
		return false
	}
	d.activate(next)
	return true
}

func (d *deliberation) activate(m *member) {
	d.status.ActiveDeployment, d.status.ActiveSince = m.name(), seconds(d.Now)
	switch {
	case m.state.Resumed: // its rollout began then
		m.state.Resumed = false
	case m.cameRolling():
		m.state.LastRolloutStarted = seconds(m.template().current.CreationTimestamp.Time)
	default:
		m.startRollout(d.Now)
	}
}

func (d *deliberation) clearActive() { d.status.ActiveDeployment, d.status.ActiveSince = "", nil }

// hold reports whether the Deployment is to be paused, and has it so.
func (d *deliberation) hold(m *member) {
	m.state.Paused = false
	if m.Elsewhere {
		return
	}
	mayRoll := d.isActive(m) || !m.state.HasPendingChanges || m.state.Resumed
	switch m.pause() {
	case pausedByUs:
		if !mayRoll {
			m.state.Paused = true
			saysSo := marked(m.Deployment) == d.Coordination.Name && m.Deployment.Annotations[v1.PauseReasonAnnotation] == pauseReason(m.state)
			if !saysSo && m.Refused == nil {
				d.decision.Pause = append(d.decision.Pause, m.key())
			}
			return
		}
		if m.cannotUnpause() {
			m.state.Refused = v1.ReasonUnpauseFailed
		}
		if d.maySet(m, false) {
			d.decision.Unpause = append(d.decision.Unpause, m.key())
		}
	case unpaused:
		if mayRoll {
			if (marked(m.Deployment) != "" || m.takenOut()) && d.maySet(m, false) {
				d.decision.Unmark = append(d.decision.Unmark, m.key())
			}
			return
		}
		m.state.Paused = !m.cannotPause()
		if m.cannotPause() {
			m.state.Refused = v1.ReasonPauseFailed
		}
		if d.maySet(m, true) {
			d.decision.Pause = append(d.decision.Pause, m.key())
		}
	}
}

// pauseReason says for people why a Deployment is paused.
func pauseReason(state *v1.DeploymentState) string {
	if state != nil && state.Skipped != "" {
		return v1.SkipReason
	}
	return v1.PauseReason
}

// reached reports whether it is time, and if not, sees to it that we look again then.
func (d *deliberation) reached(at time.Time) bool {
	if !d.Now.Before(at) {
		return true
	}
	if d.decision.Again.IsZero() || at.Before(d.decision.Again) {
		d.decision.Again = at
	}
	return false
}

// describe sets the conditions.
func (d *deliberation) describe() {
	d.set(d.readyCondition())
	d.set(d.progressingCondition())
	d.set(d.degradedCondition())
	d.setHealth()
}

func (d *deliberation) set(condition metav1.Condition) {
	condition.ObservedGeneration = d.Coordination.Generation
	condition.LastTransitionTime = *seconds(d.Now)
	condition.Message = printable.Line(condition.Message) // it may contain what others wrote
	meta.SetStatusCondition(&d.status.Conditions, condition)
}

func (d *deliberation) readyCondition() metav1.Condition {
	condition := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonDeploymentsInProgress}
	pending := d.names((*member).isPending)
	switch {
	case len(pending) > 0:
		condition.Message = fmt.Sprintf("%d of %s still to roll out: %s", len(pending), count(len(d.members)), list(pending))
	case d.status.ActiveDeployment != "":
		condition.Message = d.status.ActiveDeployment + " has rolled out and must be ready for minReadySeconds"
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1.ReasonRolledOut
		condition.Message = count(len(d.members)) + " rolled out"
	}
	return condition
}

func (d *deliberation) progressingCondition() metav1.Condition {
	condition := metav1.Condition{Type: v1.ConditionProgressing, Status: metav1.ConditionFalse}
	active := d.status.ActiveDeployment
	switch {
	case d.halted != "":
		condition.Reason, condition.Message = d.halted, "halted until "+active+" is fixed or becomes ready"
	case active != "":
		condition.Status, condition.Reason = metav1.ConditionTrue, v1.ReasonDeploymentRollingOut
		condition.Message = "the active Deployment is " + active
		if m := d.active(); m.isHeld() {
			condition.Message += "; its new pods are held by " + m.Hold.String()
		}
	case d.Busy != "":
		condition.Reason, condition.Message = v1.ReasonWaiting, "the active Deployment is "+d.Busy+", of an overlapping DeploymentCoordination"
	case d.Rolling != "" && len(d.names((*member).waits)) > 0:
		condition.Reason, condition.Message = v1.ReasonWaiting, "waiting for "+d.Rolling+", of an overlapping DeploymentCoordination, to roll out"
	case len(d.names((*member).waits)) > 0:
		condition.Reason, condition.Message = v1.ReasonWaiting, "waiting a moment to sort changes that arrive together"
	case len(d.names((*member).isPending)) > 0:
		condition.Reason, condition.Message = v1.ReasonWaiting, "the Deployments that have changes may not roll out: the condition Degraded says why"
	default:
		condition.Reason, condition.Message = v1.ReasonRolledOut, "no Deployment has changes to roll out"
	}
	return condition
}

// degradedCondition returns the condition with the reason of the gravest problem and the messages of all.
func (d *deliberation) degradedCondition() metav1.Condition {
	condition := metav1.Condition{Type: v1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: v1.ReasonAsExpected}
	var messages []string
	report := func(reason, format string, args ...any) {
		if condition.Status == metav1.ConditionFalse {
			condition.Status, condition.Reason = metav1.ConditionTrue, reason
		}
		messages = append(messages, fmt.Sprintf(format, args...))
	}
	if len(d.Overlapping) > 0 {
		report(v1.ReasonOverlappingCoordination, "other DeploymentCoordinations match some of the same Deployments: %s; of all their Deployments one rolls out at a time; change a selector",
			list(d.Overlapping))
	}
	for _, reason := range refusalReasons {
		names, message := d.refusedBy(reason)
		switch {
		case len(names) == 0:
		case reason == v1.ReasonPauseFailed:
			report(reason, "could not pause %s; the API server answered for the first of them: %s", list(names), message)
		default:
			report(reason, "could not unpause %s; the API server answered for the first of them: %s", list(names), message)
		}
	}
	for _, reason := range []string{v1.ReasonRolloutTimedOut, v1.ReasonProgressDeadlineExceeded} {
		if d.halted == reason {
			report(reason, "%s failed to roll out: change its pod template, or set onTimeout to Skip", d.status.ActiveDeployment)
		}
		if skipped := d.names(func(m *member) bool { return m.state.Skipped == reason }); len(skipped) > 0 {
			report(reason, "skipped and paused, because they failed to roll out: %s; change the pod template, or, if something else was the "+
				"cause, remove the annotation %s and run \"kubectl rollout resume\"", list(skipped), v1.PausedByAnnotation)
		}
	}
	if m := d.active(); m != nil {
		if needed := d.neededBy(m); len(needed) > 0 {
			report(v1.ReasonHeldByPodSequence, "%s is active, but its pods are held by %s, and this group needs %s, still paused: "+
				"order them the same way in both objects, or take these Deployments out of one of the two",
				m.name(), m.Hold, list(needed))
		}
	}
	if reverted := d.names(func(m *member) bool { return m.state.Resumed }); len(reverted) > 0 {
		report(v1.ReasonPauseReverted, "their owners took these out of the order, and they roll out now: %s; no other Deployment "+
			"starts before they have rolled out", list(reverted))
	}
	if kept := d.names(func(m *member) bool { return m.isPending() && m.pause() == pausedByOwner }); len(kept) > 0 {
		report(v1.ReasonPausedByOwner, "have changes to roll out, but their owner paused them: %s; unpause them, or let this "+
			"coordination do so in turn: kubectl annotate deployments --namespace %s %s=%s NAME...",
			list(kept), d.Coordination.Namespace, v1.PausedByAnnotation, d.Coordination.Name)
	}
	condition.Message = strings.Join(messages, ". ")
	return condition
}

// neededBy are the Deployments that wait, paused, for a turn which the active one has, and without which it stays held.
func (d *deliberation) neededBy(active *member) []string {
	if !active.isHeld() || len(d.names(func(m *member) bool { return m.waits() && !m.isHeld() })) > 0 {
		return nil // it may go on by itself, or the turn passes on
	}
	needed := d.names(func(m *member) bool { return m.state.Paused && slices.Contains(active.Hold.Paused, m.key()) })
	if len(d.Overlapping) == 0 {
		return needed
	}
	for _, key := range active.Hold.Paused { // also those that wait for the same turn though they do not match here
		if !slices.ContainsFunc(d.members, func(m member) bool { return m.key() == key }) {
			needed = append(needed, key.String())
		}
	}
	return needed
}

// names are those of the members that satisfy the predicate.
func (d *deliberation) names(satisfies func(*member) bool) []string {
	var names []string
	for i := range d.members {
		if m := &d.members[i]; satisfies(m) {
			names = append(names, m.name())
		}
	}
	return names
}

// setHealth sets Reconciling or Stalled, or neither, by the conditions that are set already.
func (d *deliberation) setHealth() {
	conditions := &d.status.Conditions
	switch {
	case meta.IsStatusConditionTrue(*conditions, v1.ConditionReady):
		meta.RemoveStatusCondition(conditions, v1.ConditionReconciling)
		meta.RemoveStatusCondition(conditions, v1.ConditionStalled)
	case d.isStalled():
		setStalled(conditions, v1.ConditionDegraded)
	default:
		setOneOf(conditions, v1.ConditionReconciling, v1.ConditionStalled, v1.ConditionReady)
	}
}

// isStalled reports whether nothing more rolls out here without intervention. It is for a coordination that is not ready.
func (d *deliberation) isStalled() bool {
	if !meta.IsStatusConditionTrue(d.status.Conditions, v1.ConditionDegraded) {
		return false
	}
	if m := d.active(); m != nil {
		return d.halted != "" || m.pause() == pausedByOwner || len(d.neededBy(m)) > 0
	}
	// What waits will still get its turn. What was unpaused by somebody else rolls out by itself.
	return !slices.ContainsFunc(d.members, func(m member) bool { return m.waits() || m.Elsewhere && m.isPending() })
}

// list puts on record what status has room for: the states of the Deployments that are in the hands of this coordination,
// those first that nobody could work out anew.
func (d *deliberation) list() {
	var own, others []int
	for i := range d.members {
		if d.members[i].Elsewhere {
			others = append(others, i)
		} else {
			own = append(own, i)
		}
	}
	if len(own) > maxListed {
		slices.SortStableFunc(own, func(a, b int) int { return d.compareUrgency(&d.members[a], &d.members[b]) })
		for _, i := range own[maxListed:] {
			d.decision.Unlisted = append(d.decision.Unlisted, *d.members[i].state)
		}
		own = own[:maxListed]
		slices.Sort(own)
	}
	named := slices.Concat(own, others[:min(len(others), maxListedElsewhere)])
	slices.Sort(named)
	d.status.Deployments = make([]string, 0, len(named))
	for _, i := range named {
		d.status.Deployments = append(d.status.Deployments, d.members[i].name())
	}
	d.status.UnlistedDeployments = int32(len(d.members) - len(named))
	d.status.DeploymentStates = make([]v1.DeploymentState, 0, len(own))
	for _, i := range own {
		d.status.DeploymentStates = append(d.status.DeploymentStates, *d.members[i].state)
	}
}

// compareUrgency puts the active Deployment first, then those with pending changes, those that have waited longest first.
func (d *deliberation) compareUrgency(a, b *member) int {
	if order := cmp.Or(compareBools(d.isActive(a), d.isActive(b)), compareBools(a.isPending(), b.isPending())); order != 0 {
		return order
	}
	if since, other := a.state.PendingSince, b.state.PendingSince; since != nil && other != nil {
		return since.Compare(other.Time)
	}
	return 0
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

// nextSecond is the first moment that is certainly not before what an API timestamp, which is cut to whole seconds, stands
// for.
func nextSecond(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }
