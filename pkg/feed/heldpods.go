package feed

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"example.com/podsequence/pkg/census"
	"example.com/podsequence/pkg/sequence"
)

var (
	holdDuration = metrics.NewHistogram(&metrics.HistogramOpts{
		Subsystem:      "podsequence",
		Name:           "pod_hold_duration_seconds",
		Help:           "Age of pods in seconds when they were released, of all schedulers. Times of the API server are whole seconds.",
		Buckets:        []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600},
		StabilityLevel: metrics.ALPHA,
	})
	heldPods = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "podsequence_held_pods",
		Help: "[ALPHA] Pods that are held now, of all schedulers. Each program counts all of them: take the maximum, not the sum.",
	}, func() float64 { return float64(held().Pods) })
	oldestHeldPod = census.NewAge("podsequence_oldest_held_pod_seconds", "Age in seconds of the oldest pod that is held now.",
		func() time.Time { return held().Oldest })
)

// fed is the engine that this process feeds.
var fed atomic.Pointer[sequence.Engine]

func init() {
	legacyregistry.MustRegister(holdDuration)
	legacyregistry.RawMustRegister(heldPods, oldestHeldPod)
}

// held returns what the engine holds now, nothing while nothing is fed, as on a standby.
func held() sequence.HeldPods {
	if engine := fed.Load(); engine != nil {
		return engine.HeldPods()
	}
	return sequence.HeldPods{}
}

// observeReleases measures how long pods were held. What a process finds released when it starts is none of its doing.
func (f *Feed) observeReleases(changes sequence.Changes) {
	if !f.synced || len(changes.Released) == 0 {
		return
	}
	now := f.clock.Now()
	for i := range changes.Released {
		if changes.Released[i].Again {
			continue
		}
		holdDuration.Observe(max(0, now.Sub(changes.Released[i].CreatedAt).Seconds()))
	}
}
