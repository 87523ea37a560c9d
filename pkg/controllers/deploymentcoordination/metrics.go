package deploymentcoordination

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/internal/census"
	"example.com/podsequence/internal/telemetry"
)

var (
	coordinationsByState = telemetry.DeploymentCoordination.GaugeVec("deploymentcoordinations",
		"DeploymentCoordinations, by state: the condition that is true, Ready, Reconciling or Stalled.", "state")
	waitingDeployments = telemetry.DeploymentCoordination.GaugeVec("deploymentcoordination_deployments",
		"Coordinated Deployments that have changes to roll out, by state: paused, active, skipped or other.", "state")
	turnDuration = telemetry.DeploymentCoordination.Histogram("deploymentcoordination_turn_seconds",
		"Seconds for which a Deployment was the active one.", telemetry.Durations)
	writeErrors = telemetry.DeploymentCoordination.CounterVec("deploymentcoordination_write_errors_total",
		"Failed writes of the DeploymentCoordination controller, by resource (deployments, status). It retries them. A conflict with "+
			"another writer is not counted.", "resource")
	stalledCoordinations = telemetry.DeploymentCoordination.GaugeVec("stalled_deploymentcoordinations",
		"DeploymentCoordinations that have stopped rolling out until somebody acts, by reason.", "reason")

	states   = census.New[string](coordinationsByState) // by namespace
	pendings = census.New[string](waitingDeployments)
	stalled  = census.New[string](stalledCoordinations)
)

// countNamespace updates the metrics of the coordinations of a namespace from their status, and those of the Deployments from
// what is remembered of them where status does not say so.
func countNamespace(namespace string, coordinations []v1.DeploymentCoordination, remembered records) {
	byState, byReason, pending, active := map[string]int{}, map[string]int{}, map[string]int{}, sets.New[string]()
	for i := range coordinations {
		active.Insert(coordinations[i].Status.ActiveDeployment)
	}
	for i := range coordinations {
		status := &coordinations[i].Status
		for _, kind := range []string{v1.ConditionStalled, v1.ConditionReconciling, v1.ConditionReady} {
			if meta.IsStatusConditionTrue(status.Conditions, kind) {
				byState[kind]++
				break
			}
		}
		if c := meta.FindStatusCondition(status.Conditions, v1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
			byReason[c.Reason]++
		}
		for j := range status.DeploymentStates {
			state := &status.DeploymentStates[j]
			if _, changed := remembered[state.UID]; !changed && state.HasPendingChanges {
				pending[pendingState(active, state)]++
			}
		}
	}
	for _, state := range remembered {
		if state.HasPendingChanges {
			pending[pendingState(active, state)]++
		}
	}
	states.Set(namespace, items(byState, v1.ConditionStalled, v1.ConditionReconciling, v1.ConditionReady)...)
	stalled.Set(namespace, items(byReason, slices.Sorted(maps.Keys(byReason))...)...)
	census.Problems.Set("DeploymentCoordination", namespace, "", byState[v1.ConditionStalled])
	pendings.Set(namespace, items(pending, "active", "skipped", "paused", "other")...)
}

func pendingState(active sets.Set[string], state *v1.DeploymentState) string {
	switch {
	case active.Has(state.Name):
		return "active"
	case state.Skipped != "":
		return "skipped"
	case state.Paused:
		return "paused"
	}
	return "other"
}

// items are the counts in a fixed order.
func items(counts map[string]int, labels ...string) []census.Item {
	var all []census.Item
	for _, label := range labels {
		if counts[label] > 0 {
			all = append(all, census.Item{Labels: []string{label}, Count: counts[label]})
		}
	}
	return all
}

// observeTurn measures a turn that has ended.
func observeTurn(before, after *v1.DeploymentCoordinationStatus, now time.Time) {
	if before.ActiveDeployment != after.ActiveDeployment && before.ActiveSince != nil {
		turnDuration.Observe(max(0, now.Sub(before.ActiveSince.Time).Seconds()))
	}
}

// countWriteError counts a write that failed for another reason than that somebody else was faster.
func countWriteError(resource string, err error) {
	if !hasChanged(err) {
		writeErrors.WithLabelValues(resource).Inc()
	}
}
