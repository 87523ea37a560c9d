package podgroup

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"example.com/podsequence/pkg/census"
)

var (
	labelErrors = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem:      "podsequence",
		Name:           "podgroup_label_errors_total",
		Help:           "Failed writes of the ready label of a pod in a group. The controller retries them.",
		StabilityLevel: metrics.ALPHA,
	})
	groupsByState = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Subsystem:      "podsequence",
		Name:           "podgroups",
		Help:           "Pod groups, by state: ready if all pods of the group run, else waiting.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"state"})

	states = census.New[types.NamespacedName](groupsByState)
)

func init() { legacyregistry.MustRegister(labelErrors, groupsByState) }

// Collectors are this package's metrics, for a program that does not serve Kubernetes' registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{labelErrors, groupsByState.GaugeVec}
}

// countGroup updates the metrics with the state of a group.
func countGroup(group types.NamespacedName, ready bool) {
	state := "waiting"
	if ready {
		state = "ready"
	}
	states.Set(group, census.One(state))
}
