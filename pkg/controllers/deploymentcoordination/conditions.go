package deploymentcoordination

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "example.com/podsequence/apis/apps/v1"
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
	meta.SetStatusCondition(&d.status.Conditions, condition)
}

func (d *deliberation) readyCondition() metav1.Condition {
	condition := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonDeploymentsInProgress}
	pending := d.names((*member).isPending)
	switch {
	case len(pending) > 0:
		condition.Message = fmt.Sprintf("%d of %s to roll out: %s", len(pending), count(len(d.members)), list(pending))
	case d.status.ActiveDeployment != "":
		condition.Message = d.status.ActiveDeployment + " has rolled out and has yet to be ready for minReadySeconds"
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
		condition.Reason, condition.Message = d.halted, "halted until "+active+" is fixed or ready"
	case active != "":
		condition.Status, condition.Reason = metav1.ConditionTrue, v1.ReasonDeploymentRollingOut
		condition.Message = "it is the turn of " + active
		if m := d.active(); m.isHeld() {
			condition.Message += ", whose new pods are held by " + m.Hold.String()
		}
	case d.Busy != "":
		condition.Reason, condition.Message = v1.ReasonWaiting, "it is the turn of "+d.Busy+" of an overlapping DeploymentCoordination"
	case d.Rolling != "" && len(d.names((*member).waits)) > 0:
		condition.Reason, condition.Message = v1.ReasonWaiting, d.Rolling+" rolls out, of an overlapping DeploymentCoordination"
	case len(d.names((*member).waits)) > 0:
		condition.Reason, condition.Message = v1.ReasonWaiting, "changes that come together are put in order"
	case len(d.names((*member).isPending)) > 0:
		condition.Reason, condition.Message = v1.ReasonWaiting, "what has changes to roll out may not"
	default:
		condition.Reason, condition.Message = v1.ReasonRolledOut, "nothing has changes to roll out"
	}
	return condition
}

// degradedCondition has the reason of the gravest problem and the messages of all.
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
		report(v1.ReasonOverlappingCoordination, "matches Deployments that others match too: %s; of all their Deployments one rolls out at a time",
			list(d.Overlapping))
	}
	for _, reason := range refusalReasons {
		names, message := d.refusedBy(reason)
		switch {
		case len(names) == 0:
		case reason == v1.ReasonPauseFailed:
			report(reason, "not paused, though they are to be: %s; the API server has refused to have the first paused: %s", list(names), message)
		default:
			report(reason, "not unpaused, though they are to be: %s; the API server has refused to have the first unpaused: %s", list(names), message)
		}
	}
	for _, reason := range []string{v1.ReasonRolloutTimedOut, v1.ReasonProgressDeadlineExceeded} {
		if d.halted == reason {
			report(reason, "%s has failed to roll out: change its template, or set onTimeout to Skip", d.status.ActiveDeployment)
		}
		if skipped := d.names(func(m *member) bool { return m.state.Skipped == reason }); len(skipped) > 0 {
			report(reason, "skipped, and paused: %s; change the template, or resume with \"kubectl rollout resume\"", list(skipped))
		}
	}
	if m := d.active(); m != nil {
		if needed := d.neededBy(m); len(needed) > 0 {
			report(v1.ReasonHeldByPodSequence, "it is the turn of %s, but its pods are held by %s, which needs %s, paused by a DeploymentCoordination: "+
				"have both objects give them the same order, or take these Deployments out of one of the two",
				m.name(), m.Hold, list(needed))
		}
	}
	if reverted := d.names(func(m *member) bool { return m.state.Resumed }); len(reverted) > 0 {
		report(v1.ReasonPauseReverted, "unpaused by somebody else before their turn, and rolling out beside it: %s; "+
			"have GitOps tools ignore spec.paused", list(reverted))
	}
	if kept := d.names(func(m *member) bool { return m.isPending() && m.pause() == pausedByOwner }); len(kept) > 0 {
		report(v1.ReasonPausedByOwner, "have changes to roll out but were paused by their owner: %s; unpause them, or have this "+
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
