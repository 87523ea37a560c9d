// podsequence-scheduler is a kube-scheduler with the PodSequence plugin compiled in.
package main

import (
	"fmt"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build information metric
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"example.com/podsequence/internal/version"
	"example.com/podsequence/pkg/plugins/podsequence"
)

func main() {
	// kube-scheduler's own --version knows only the Kubernetes release.
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(version.String())
		return
	}
	command := app.NewSchedulerCommand(app.WithPlugin(podsequence.Name, podsequence.New))
	command.Use = "podsequence-scheduler"
	command.Long = `podsequence-scheduler is a kube-scheduler that starts pods in the order of their PodSequences.

It runs beside the cluster's own scheduler and schedules the pods whose spec.schedulerName is one of
its profiles. Its configuration file must enable the plugin PodSequence; the one shipped in
manifests/scheduler-config does.

Beside kube-scheduler's secure port it serves /livez and /readyz by HTTP for probes, at
--health-probe-bind-address (default :8081; 0 for none). This /readyz knows of the plugin.

At start it asks the API server for its version, and emulates that version if it is older, as
--emulated-version would. --emulate-api-server=false turns that off.`
	addEmulation(command)
	addHealth(command)
	os.Exit(cli.Run(command))
}
