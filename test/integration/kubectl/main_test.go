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
	options := controlplane.Options{
		Nodes: 2,
		// Kubernetes' own PodGroups.
		FeatureGates:  []string{"GenericWorkload=true"},
		RuntimeConfig: []string{"scheduling.k8s.io/v1beta1=true"},
		ExtraArgs:     map[string][]string{controlplane.PodSequenceController: {"--metrics-sequence-names"}},
	}
	cluster.Main(m, 6, options, func(c *cluster.Cluster) error {
		shared = c
		return nil
	})
}
