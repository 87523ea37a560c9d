// Package deploymentcoordination tests what users of DeploymentCoordinations see, on a real control plane with the real
// Deployment controller and our real controller under its own ServiceAccount. One cluster serves all tests of a run, each
// in a namespace of its own, and a watcher that shares no code with the controller judges every one of them.
//
// Tests run one after another that stop the controller, take the policy away, or measure. The others run side by side when those are over.
package deploymentcoordination

import (
	"context"
	"testing"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/rolloutcheck"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// The cluster of all tests, and who watches it.
var (
	shared  *cluster.Cluster
	watcher *rolloutcheck.Watcher
)

func TestMain(m *testing.M) {
	cluster.Main(m, 4, controlplane.Options{Nodes: 2, AuditLog: true}, func(c *cluster.Cluster) error {
		shared = c
		etcd, err := c.EtcdConfig()
		if err != nil {
			return err
		}
		if watcher, err = rolloutcheck.Start(context.Background(), etcd); err != nil {
			return err
		}
		c.AtStop(func() error { watcher.Stop(); return nil })
		return nil
	})
}
