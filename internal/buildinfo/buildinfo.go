// Package buildinfo contains the metrics that say which programs run, and which should.
package buildinfo

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/podsequence/internal/telemetry"
	"example.com/podsequence/internal/version"
)

// The programs, by the label program.
const (
	Scheduler  = "podsequence-scheduler"
	Controller = "podsequence-controller"
)

// New returns the metric of a program. Every replica has it, also a standby: an alert asks whether anybody does.
func New(program string) prometheus.Collector {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "podsequence_build_info",
		Help: "[ALPHA] 1, with the name of the program and its version.",
	}, []string{"program", "version"})
	info.WithLabelValues(program, version.Release()).Set(1)
	return info
}

// SchedulerExpected is a metric of the controller: where it is 0, nobody misses the scheduler.
var SchedulerExpected = telemetry.Sequences.Gauge("scheduler_expected",
	"1 if podsequence-scheduler should run beside this controller, by the controller's flags; 0 in lite mode and without PodSequences.")
