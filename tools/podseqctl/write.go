package podseqctl

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/tools/podseqctl/operate"
)

var _ operate.API = &apiSource{}

// fieldManager names this tool in metadata.managedFields. It must not begin with kubectl: Flux takes over what such a manager wrote, and
// removes of it what its manifest does not have.
const fieldManager = "podseq-cli"

func dryRunOf(dryRun bool) []string {
	if dryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}
