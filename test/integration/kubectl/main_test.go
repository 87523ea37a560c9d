// Package kubectl tests kubectl podseq as people use it: the built program, against a real control plane with our programs, with
// the rights of the roles view and edit in one namespace.
package kubectl

import (
	"testing"

	"example.com/podsequence/internal/controlplane"
	"example.com/podsequence/internal/testing/cluster"
)

// shared is the cluster of all tests.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	cluster.Main(m, 4, controlplane.Options{Nodes: 2}, func(c *cluster.Cluster) error {
		shared = c
		return nil
	})
}
