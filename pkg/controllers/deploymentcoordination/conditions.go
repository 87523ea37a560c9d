package deploymentcoordination

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/internal/printable"
)

// maxNames is how many Deployments a message names.
const maxNames = 5

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

func (m *member) isPending() bool { return m.state.HasPendingChanges }

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

// list names the first few.
func list(names []string) string {
	if more := len(names) - maxNames; more > 0 {
		names = append(slices.Clone(names[:maxNames]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

func count(deployments int) string {
	if deployments == 1 {
		return "1 Deployment"
	}
	return fmt.Sprintf("%d Deployments", deployments)
}
