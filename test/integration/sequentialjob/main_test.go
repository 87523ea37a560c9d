// Package sequentialjob tests what users of SequentialJobs see, on a real control plane: Jobs are run by the real Job
// controller, and their pods ended by KWOK. One cluster serves all tests of a run, each in a namespace of its own.
package sequentialjob

import (
	"testing"

	"example.com/podsequence/internal/controlplane"
	"example.com/podsequence/internal/testing/cluster"
)

// shared is the cluster of all tests.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	cluster.Main(m, controlplane.Options{AuditLog: true}, func(c *cluster.Cluster) error {
		shared = c
		return nil
	})
}
