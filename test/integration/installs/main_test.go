// Package installs tests that the order of an application holds from its first installation on, whatever people install it with: most
// tools create custom resources, and so the PodSequence, after the workloads.
package installs

import (
	"context"
	"flag"
	"testing"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// shared is the cluster of all tests, and referee watches it.
var (
	shared  *cluster.Cluster
	referee *ordercheck.Referee
)

func TestMain(m *testing.M) {
	flag.Parse()
	cluster.Main(m, 3, controlplane.Options{}, func(c *cluster.Cluster) error {
		shared = c
		etcd, err := c.EtcdConfig()
		if err != nil {
			return err
		}
		if referee, err = ordercheck.Start(context.Background(), etcd, ordercheck.Options{}); err != nil {
			return err
		}
		c.AtStop(func() error { referee.Stop(); return nil })
		return nil
	})
}
