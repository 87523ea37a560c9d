package feed

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/podsequence/internal/census"
	"example.com/podsequence/internal/telemetry"
	"example.com/podsequence/pkg/sequence"
)

var (
	watchErrors = telemetry.Engine.CounterVec("watch_errors_total",
		"Failed lists and watches of the objects that decisions depend on, by resource. While they fail, waiting pods stay held.", "resource")
	eventDuration = telemetry.Engine.Histogram("event_duration_seconds",
		"Seconds to process one event. Events of all namespaces are processed one after another; the queue of the scheduler does not wait for them.",
		prometheus.ExponentialBuckets(0.00001, 4, 10))
	engineSynced = telemetry.Engine.Gauge("engine_synced",
		"1 while this process knows everything that it needs to release pods. While it is 0 the process releases none. A standby replica always has 0.")
	holdDuration = telemetry.Engine.Histogram("pod_hold_duration_seconds",
		"Age of pods in seconds when they were released, of all schedulers. Times of the API server are whole seconds.", telemetry.Durations)
	_ = telemetry.Engine.GaugeFunc("held_pods",
		"Pods that are held now, of all schedulers. Each program counts all of them: take the maximum, not the sum.",
		func() float64 { return float64(held().Pods) })
	_ = census.NewAge(&telemetry.Engine, "oldest_held_pod_seconds", "Age in seconds of the oldest pod that is held now.",
		func() time.Time { return held().Oldest })
)

// fed is the engine that this process feeds.
var fed atomic.Pointer[sequence.Engine]

// held returns what the engine holds now, nothing while nothing is fed, as on a standby.
func held() sequence.HeldPods {
	if engine := fed.Load(); engine != nil {
		return engine.HeldPods()
	}
	return sequence.HeldPods{}
}
