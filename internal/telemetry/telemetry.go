// Package telemetry makes the metrics of PodSequence. Each package declares its own, as those of a part of the product, and each program
// serves the parts that run in it: podsequence-scheduler by Kubernetes' registry, podsequence-controller by that of controller-runtime.
package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Part is a part of the product with metrics of its own.
type Part struct{ collectors []prometheus.Collector }

// The parts. Shared and Engine are of both programs, and all others of podsequence-controller.
var (
	Shared                 Part
	Engine                 Part // a controller that has none would report forever that it is not synced
	Sequences              Part
	AllKinds               Part
	SequentialJob          Part
	PodGroup               Part
	DeploymentCoordination Part
)

// Collectors returns the metrics of the part.
func (p *Part) Collectors() []prometheus.Collector { return p.collectors }

// Add adds a metric that is made elsewhere.
func (p *Part) Add(collector prometheus.Collector) { p.collectors = append(p.collectors, collector) }

// Durations are the buckets of what takes from a second to a day, in seconds.
var Durations = []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600}

// Counter makes a counter. Names lack the prefix that all metrics have.
func (p *Part) Counter(name, help string) prometheus.Counter {
	return add(p, prometheus.NewCounter(prometheus.CounterOpts(options(name, help))))
}

// CounterVec makes a counter with labels.
func (p *Part) CounterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return add(p, prometheus.NewCounterVec(prometheus.CounterOpts(options(name, help)), labels))
}

// Gauge makes a gauge.
func (p *Part) Gauge(name, help string) prometheus.Gauge {
	return add(p, prometheus.NewGauge(prometheus.GaugeOpts(options(name, help))))
}

// GaugeFunc makes a gauge that asks for its value.
func (p *Part) GaugeFunc(name, help string, value func() float64) prometheus.GaugeFunc {
	return add(p, prometheus.NewGaugeFunc(prometheus.GaugeOpts(options(name, help)), value))
}

// GaugeVec makes a gauge with labels.
func (p *Part) GaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	return add(p, prometheus.NewGaugeVec(prometheus.GaugeOpts(options(name, help)), labels))
}

// Histogram makes a histogram.
func (p *Part) Histogram(name, help string, buckets []float64) prometheus.Histogram {
	return add(p, prometheus.NewHistogram(histogram(name, help, buckets)))
}

// HistogramVec makes a histogram with labels.
func (p *Part) HistogramVec(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return add(p, prometheus.NewHistogramVec(histogram(name, help, buckets), labels))
}

func add[C prometheus.Collector](p *Part, collector C) C {
	p.Add(collector)
	return collector
}

// All metrics may still change, which Kubernetes' own say in the same manner.
func options(name, help string) prometheus.Opts {
	return prometheus.Opts{Namespace: "podsequence", Name: name, Help: "[ALPHA] " + help}
}

func histogram(name, help string, buckets []float64) prometheus.HistogramOpts {
	o := options(name, help)
	return prometheus.HistogramOpts{Namespace: o.Namespace, Name: o.Name, Help: o.Help, Buckets: buckets}
}
