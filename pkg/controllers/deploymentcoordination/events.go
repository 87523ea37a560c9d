package deploymentcoordination

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "example.com/podsequence/apis/apps/v1"
)

// event is something worth telling about a coordination.
type event struct {
	kind       string // corev1.EventTypeNormal or corev1.EventTypeWarning
	reason     string
	action     string // what was being done
	deployment string // which it is about, as namespace/name; may be empty
	note       string
}

// The actions of events.
const (
	actionActivate = "Activate"
	actionPause    = "Pause"
	actionUnpause  = "Unpause"
	actionObserve  = "Observe"
)

// eventsFor is what the status of a decision tells that the one before did not. It is compared with the one that it replaced,
// so no event comes twice, however often the controller is restarted.
func eventsFor(before v1.DeploymentCoordinationStatus, decision Decision) []event {
	after := decision.Status
	states := map[string]v1.DeploymentState{}
	for _, state := range before.DeploymentStates {
		states[state.Name] = state
	}
	told := slices.Clone(toldOfDeployments)
	var all []event
	for _, state := range after.DeploymentStates {
		earlier, known := states[state.Name]
		if !known && before.UnlistedDeployments > 0 {
			continue // it is unknown whether it is new
		}
		switch {
		case state.Skipped != "" && earlier.Skipped == "":
			told = append(told, state.Skipped)
			all = append(all, event{corev1.EventTypeWarning, state.Skipped, actionPause, state.Name,
				state.Name + " failed to roll out: it is skipped, and paused until its pod template changes"})
		case state.Skipped == "" && state.Paused && (!earlier.Paused || earlier.Skipped != ""):
			all = append(all, event{corev1.EventTypeNormal, v1.EventDeploymentPaused, actionPause, state.Name,
				state.Name + " has changes to roll out, and is paused until its turn"})
		}
		if state.Refused != "" && earlier.Refused != state.Refused {
			note := state.Name + " could not be paused"
			action := actionPause
			if state.Refused == v1.ReasonUnpauseFailed {
				note, action = state.Name+" could not be unpaused", actionUnpause
			}
			all = append(all, event{corev1.EventTypeWarning, state.Refused, action, state.Name, note + ": the condition Degraded says why"})
		}
		if state.Resumed && !earlier.Resumed {
			all = append(all, event{corev1.EventTypeWarning, v1.ReasonPauseReverted, actionObserve, state.Name,
				state.Name + " was taken out of the order by its owner, and rolls out now"})
		}
	}
	all = append(all, activeEvents(before, decision)...)
	if degraded := degradedBy(after); degraded != nil && !slices.Contains(told, degraded.Reason) {
		if earlier := degradedBy(before); earlier == nil || earlier.Reason != degraded.Reason {
			all = append(all, event{corev1.EventTypeWarning, degraded.Reason, actionObserve, "", degraded.Message})
		}
	}
	return all
}

// toldOfDeployments are the reasons of Degraded that events of single Deployments tell.
var toldOfDeployments = append([]string{v1.ReasonPauseReverted}, refusalReasons...)

// activeEvents tell of whose turn it was and is.
func activeEvents(before v1.DeploymentCoordinationStatus, decision Decision) []event {
	after := decision.Status
	was, is := before.ActiveDeployment, after.ActiveDeployment
	if was == is {
		return nil
	}
	var all []event
	normal := func(reason, deployment, format string, args ...any) {
		all = append(all, event{corev1.EventTypeNormal, reason, actionActivate, deployment, fmt.Sprintf(format, args...)})
	}
	switch state := decision.state(was); {
	case state == nil:
	case state.HasPendingChanges:
		if state.HeldBy != "" && state.Skipped == "" && is != "" {
			normal(v1.ReasonHeldByPodSequence, was, "the pods of %s are held by PodSequence %s: the next Deployment gets the turn", was, state.HeldBy)
		}
	case decision.Unready:
		all = append(all, event{corev1.EventTypeWarning, v1.ReasonRolloutTimedOut, actionObserve, was,
			was + " rolled out, but was not ready for minReadySeconds before rolloutTimeoutSeconds were over: it loses its turn"})
	default:
		normal(v1.EventActiveDeploymentReady, was, "%s has rolled out and is ready", was)
	}
	switch {
	case is == "":
		normal(v1.EventActiveDeploymentCleared, was, "%s is no longer active, and no other Deployment is", was)
	case was != "":
		normal(v1.EventActiveDeploymentChanged, is, "%s is active, after %s", is, was)
	}
	if is != "" {
		normal(v1.EventDeploymentActivated, is, "%s is active: it may roll out now", is)
	}
	return all
}

// degradedBy is the Degraded condition if it is true, or nil.
func degradedBy(status v1.DeploymentCoordinationStatus) *metav1.Condition {
	degraded := meta.FindStatusCondition(status.Conditions, v1.ConditionDegraded)
	if degraded == nil || degraded.Status != metav1.ConditionTrue {
		return nil
	}
	return degraded
}
