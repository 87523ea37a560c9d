package podgroup

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var labelErrors = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "podsequence_podgroup_label_errors_total",
	Help: "Failures to write the ready label of a pod in a group. They are tried again.",
})

func init() {
	metrics.Registry.MustRegister(labelErrors)
}
