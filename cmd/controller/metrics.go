package main

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"example.com/podsequence/kinds/deploymentcoordination"
	"example.com/podsequence/kinds/podgroup"
	"example.com/podsequence/kinds/sequentialjob"
	"example.com/podsequence/pkg/buildinfo"
	"example.com/podsequence/pkg/census"
	"example.com/podsequence/pkg/controllers/podsequence"
	"example.com/podsequence/pkg/definitions"
	"example.com/podsequence/pkg/feed"
	"example.com/podsequence/pkg/objectwatch"
	"example.com/podsequence/pkg/podgroupwatch"
	"example.com/podsequence/pkg/podwriter"
	"example.com/podsequence/pkg/record"
	"example.com/podsequence/pkg/servertime"
)

// The packages that both programs share register with Kubernetes' registry, which the scheduler serves. A manager serves
// one of its own. Both have the Go collectors, so that one cannot simply be put into the other.
func init() {
	metrics.Registry.MustRegister(buildinfo.New(buildinfo.Controller), buildinfo.SchedulerExpected, census.Problems)
	metrics.Registry.MustRegister(definitions.Collectors()...)
	metrics.Registry.MustRegister(podwriter.Collectors()...)
	metrics.Registry.MustRegister(podgroupwatch.Collectors()...)
	metrics.Registry.MustRegister(objectwatch.Collectors()...)
	metrics.Registry.MustRegister(servertime.Collectors()...)
	metrics.Registry.MustRegister(podsequence.Collectors()...)
	metrics.Registry.MustRegister(sequentialjob.Collectors()...)
	metrics.Registry.MustRegister(podgroup.Collectors()...)
	metrics.Registry.MustRegister(deploymentcoordination.Collectors()...)
}

// serveEngine adds the metrics of the engine. A controller without one would report forever that it is not synced.
func serveEngine() error {
	for _, collector := range append(feed.Collectors(), record.Collectors()...) {
		if err := metrics.Registry.Register(collector); err != nil {
			return fmt.Errorf("register metrics of the engine: %w", err)
		}
	}
	return nil
}
