// podsequence-controller writes the status of PodSequences and lifts the gates of pods that other schedulers place.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	command := newCommand()
	command.SetContext(ctrl.SetupSignalHandler())
	os.Exit(cli.Run(command))
}
