package podgroup

import (
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/internal/census"
	"example.com/podsequence/internal/telemetry"
)

var (
	labelErrors = telemetry.PodGroup.Counter("podgroup_label_errors_total",
		"Failed writes of the ready label of a pod in a group. The controller retries them.")
	groupsByState = telemetry.PodGroup.GaugeVec("podgroups",
		"Pod groups, by state: ready if all pods of the group run, else waiting.", "state")

	states = census.New[types.NamespacedName](groupsByState)
)

// countGroup updates the metrics with the state of a group.
func countGroup(group types.NamespacedName, ready bool) {
	state := "waiting"
	if ready {
		state = "ready"
	}
	states.Set(group, census.One(state))
}
