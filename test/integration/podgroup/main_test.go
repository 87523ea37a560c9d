// Package podgroup tests what users of pod groups see, on a real control plane with the feature gate of Kubernetes' own
// PodGroups, and our real controller under its own ServiceAccount. One cluster serves most tests, each in a namespace of its
// own, and a witness that shares no code with the controller looks at every label that is given.
package podgroup

import (
	"flag"
	"testing"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

var (
	// shared is the cluster of most tests.
	shared *cluster.Cluster
	// victims are for tests that kill the controller.
	victims cluster.Exclusive
	// coschedulingTurns is for tests that install Coscheduling's PodGroup in the shared cluster, and remove it.
	coschedulingTurns cluster.Turns
)

func TestMain(m *testing.M) {
	flag.Parse()
	victims.Options = options()
	cluster.Main(m, 8, options(), func(c *cluster.Cluster) error {
		shared = c
		return nil
	})
}

// options of a cluster with gang scheduling, whose stock scheduler places all pods.
func options() controlplane.Options {
	gates, versions := cluster.NativePodGroups()
	return controlplane.Options{
		AuditLog:      true,
		Components:    append(controlplane.UpstreamComponents(), controlplane.PodSequenceController),
		FeatureGates:  gates,
		RuntimeConfig: versions,
		ExtraArgs:     map[string][]string{controlplane.PodSequenceController: {"--v=4"}},
	}
}
