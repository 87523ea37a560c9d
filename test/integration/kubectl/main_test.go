// Package kubectl tests kubectl podseq as people use it: the built program, against a real control plane with our programs, with
// the rights of the roles view and edit in one namespace.
package kubectl

import (
	"flag"
	"testing"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// shared is the cluster of all tests.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	flag.Parse()
	gates, versions := cluster.NativePodGroups()
	options := controlplane.Options{Nodes: 2, FeatureGates: gates, RuntimeConfig: versions}
	cluster.Main(m, 6, options, func(c *cluster.Cluster) error {
		shared = c
		return nil
	})
}
