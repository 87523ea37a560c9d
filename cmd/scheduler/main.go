// podsequence-scheduler is a kube-scheduler with the PodSequence plugin compiled in.
package main

import (
	"fmt"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build information metric
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"example.com/podsequence/internal/buildinfo"
	"example.com/podsequence/internal/version"
	"example.com/podsequence/pkg/plugins/podsequence"
)

func main() {
	// kube-scheduler's own --version knows only the Kubernetes release.
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(version.String())
		return
	}
	legacyregistry.RawMustRegister(buildinfo.New(buildinfo.Scheduler))
	command := app.NewSchedulerCommand(app.WithPlugin(podsequence.Name, podsequence.New))
	command.Use = "podsequence-scheduler"
	command.Long = `podsequence-scheduler is a kube-scheduler that starts pods in the order of their PodSequences.

It runs beside the cluster's own scheduler, and schedules the pods whose spec.schedulerName is one of its
profiles. It holds a pod until all groups before the pod's group are ready.

Start it with a configuration file that enables the plugin PodSequence, such as the one in
manifests/scheduler-config:

  podsequence-scheduler --config scheduler-config.yaml

For probes it serves /livez and /readyz over HTTP at --health-probe-bind-address. This /readyz includes the
state of the plugin; the one on the secure port of kube-scheduler does not.

At start the scheduler asks the API server for its version. If that is older than the scheduler's own, the
scheduler emulates it, as with --emulated-version. --emulate-api-server=false turns this off.

All other flags are those of kube-scheduler.`
	addEmulation(command)
	addMetricLabels(command)
	addHealth(command)
	os.Exit(cli.Run(command))
}
