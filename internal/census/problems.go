package census

import (
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/podsequence/internal/telemetry"
)

const (
	// MaxNamespaces is how many namespaces a metric names at a time. Users decide how many namespaces have a problem, so a metric that
	// named all of them would have no bound.
	MaxNamespaces = 200

	// OtherNamespaces stands for the namespaces that a metric does not name. No namespace can have this name.
	OtherNamespaces = "(other)"
)

// Problems counts the objects that somebody has to look at, of all kinds.
var Problems = &ByNamespace{
	desc: prometheus.NewDesc("podsequence_objects_with_problems",
		"[ALPHA] Objects that somebody has to look at, by kind and namespace: sequences that are degraded or stalled, SequentialJobs that have "+
			"failed, and DeploymentCoordinations that are stalled. ClusterPodSequences have an empty namespace.",
		[]string{"kind", "namespace"}, nil),
	counts: map[counted]int{},
}

func init() { telemetry.AllKinds.Add(Problems) }

// ByNamespace is a gauge of objects by kind and namespace. It has samples only where there is something to count. It names the first
// namespaces in the order of their names.
type ByNamespace struct {
	desc *prometheus.Desc

	lock   sync.Mutex
	counts map[counted]int
}

// counted is an object, or all objects of a kind in a namespace.
type counted struct{ kind, namespace, name string }

// Set replaces what is counted for an object; 0 forgets it.
func (b *ByNamespace) Set(kind, namespace, name string, count int) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if count == 0 {
		delete(b.counts, counted{kind, namespace, name})
		return
	}
	b.counts[counted{kind, namespace, name}] = count
}

// Describe implements prometheus.Collector.
func (b *ByNamespace) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- b.desc }

// Collect implements prometheus.Collector.
func (b *ByNamespace) Collect(collected chan<- prometheus.Metric) {
	b.lock.Lock()
	defer b.lock.Unlock()
	byNamespace := map[string]map[string]int{}
	for c, count := range b.counts {
		if byNamespace[c.namespace] == nil {
			byNamespace[c.namespace] = map[string]int{}
		}
		byNamespace[c.namespace][c.kind] += count
	}
	others := map[string]int{}
	for i, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		if i < MaxNamespaces {
			b.send(collected, namespace, byNamespace[namespace])
			continue
		}
		for kind, count := range byNamespace[namespace] {
			others[kind] += count
		}
	}
	b.send(collected, OtherNamespaces, others)
}

func (b *ByNamespace) send(collected chan<- prometheus.Metric, namespace string, counts map[string]int) {
	for kind, count := range counts {
		collected <- prometheus.MustNewConstMetric(b.desc, prometheus.GaugeValue, float64(count), kind, namespace)
	}
}
