package podsequence

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

var (
	phaseOfSequence = prometheus.NewDesc("podsequence_sequence_phase",
		"[ALPHA] 1 for the current phase of a sequence.", []string{"kind", "namespace", "name", "phase"}, nil)
	groupsOfSequence = prometheus.NewDesc("podsequence_sequence_groups",
		"[ALPHA] Groups of a sequence, by phase.", []string{"kind", "namespace", "name", "phase"}, nil)
	earlyOfSequence = prometheus.NewDesc("podsequence_sequence_pods_started_out_of_order",
		"[ALPHA] Pods that started before the sequence existed, while a group that they wait for was not ready. Absent if there are none.",
		[]string{"kind", "namespace", "name"}, nil)
	overrideOfSequence = prometheus.NewDesc("podsequence_sequence_overridden_timestamp_seconds",
		"[ALPHA] When annotations began to override the spec of a sequence, in seconds since 1970. Absent while they do not.",
		[]string{"kind", "namespace", "name"}, nil)
)

// byName is the collector of the metrics that name sequences.
var byName = &namedSequences{}

// CollectorsByName are the metrics that have the names of sequences as labels. There is nothing in them before it is called: they
// take memory, and as many time series as users create sequences.
func CollectorsByName() []prometheus.Collector {
	byName.lock.Lock()
	defer byName.lock.Unlock()
	if byName.sequences == nil {
		byName.sequences = map[types.NamespacedName]namedSequence{}
	}
	return []prometheus.Collector{byName}
}

type namedSequences struct {
	lock      sync.Mutex
	sequences map[types.NamespacedName]namedSequence // nil while nobody wants to know
}

type namedSequence struct {
	phase  v1alpha1.Phase
	groups map[v1alpha1.GroupPhase]int
	early  int // pods that started out of order
	// overridden is since when annotations override the spec; zero if they do not.
	overridden time.Time
}

func (n *namedSequences) set(key types.NamespacedName, sequence namedSequence) {
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.sequences != nil {
		n.sequences[key] = sequence
	}
}

func (n *namedSequences) forget(key types.NamespacedName) {
	n.lock.Lock()
	defer n.lock.Unlock()
	delete(n.sequences, key)
}

// Describe implements prometheus.Collector.
func (n *namedSequences) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- phaseOfSequence
	descriptions <- groupsOfSequence
	descriptions <- earlyOfSequence
	descriptions <- overrideOfSequence
}

// Collect implements prometheus.Collector.
func (n *namedSequences) Collect(collected chan<- prometheus.Metric) {
	n.lock.Lock()
	defer n.lock.Unlock()
	for key, sequence := range n.sequences {
		send := func(of *prometheus.Desc, value int, phase string) {
			collected <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, float64(value), kindOf(key), key.Namespace, key.Name, phase)
		}
		send(phaseOfSequence, 1, string(sequence.phase))
		for phase, count := range sequence.groups {
			send(groupsOfSequence, count, string(phase))
		}
		sendOne := func(of *prometheus.Desc, value float64) {
			collected <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, kindOf(key), key.Namespace, key.Name)
		}
		if sequence.early > 0 {
			sendOne(earlyOfSequence, float64(sequence.early))
		}
		if !sequence.overridden.IsZero() {
			sendOne(overrideOfSequence, float64(sequence.overridden.Unix()))
		}
	}
}
