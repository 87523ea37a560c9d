// Package sequentialjob tests what users of SequentialJobs see, on a real control plane: Jobs are run by the real Job
// controller, and their pods ended by KWOK. One cluster serves most tests of a run, each in a namespace of its own.
package sequentialjob

import (
	"testing"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// shared is the cluster of most tests.
var shared *cluster.Cluster

// victims are for tests that kill the controller, or change the definition of its kind.
var victims = cluster.Exclusive{Options: controlplane.Options{AuditLog: true}}

func TestMain(m *testing.M) {
	cluster.Main(m, 12, victims.Options, func(c *cluster.Cluster) error {
		shared = c
		return nil
	})
}
