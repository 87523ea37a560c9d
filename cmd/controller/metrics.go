package main

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"example.com/podsequence/internal/buildinfo"
	"example.com/podsequence/internal/telemetry"
)

func init() {
	metrics.Registry.MustRegister(buildinfo.New(buildinfo.Controller))
	for _, part := range []telemetry.Part{
		telemetry.Shared, telemetry.Sequences, telemetry.AllKinds, telemetry.SequentialJob, telemetry.PodGroup, telemetry.DeploymentCoordination,
	} {
		metrics.Registry.MustRegister(part.Collectors()...)
	}
}

// serveEngine adds the metrics of the engine. A controller without one would report forever that it is not synced.
func serveEngine() error {
	for _, collector := range telemetry.Engine.Collectors() {
		if err := metrics.Registry.Register(collector); err != nil {
			return fmt.Errorf("register metrics of the engine: %w", err)
		}
	}
	return nil
}
