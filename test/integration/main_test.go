// Package integration tests what users see, on a real control plane with our real programs under their own
// ServiceAccounts. One cluster serves most tests of a run, each in a namespace of its own, and a referee that shares no
// code with the engine judges every one of them.
package integration

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/podsequence/internal/controlplane"
	"example.com/podsequence/internal/ordercheck"
	"example.com/podsequence/internal/testing/cluster"
)

// environment is a cluster and a referee that watches it.
type environment struct {
	*cluster.Cluster
	referee *ordercheck.Referee
}

// shared is what all tests use that do not need a cluster of their own.
var shared *environment

func TestMain(m *testing.M) {
	cluster.Main(m, controlplane.Options{AuditLog: true}, func(c *cluster.Cluster) (err error) {
		c.AtStop(func() error { return writesAreOurs(c) })
		shared, err = withReferee(c)
		return err
	})
}

// withReferee has a referee watch a cluster until it stops.
func withReferee(c *cluster.Cluster) (*environment, error) {
	etcd, err := c.EtcdConfig()
	if err != nil {
		return nil, err
	}
	referee, err := ordercheck.Start(context.Background(), etcd, ordercheck.Options{})
	if err != nil {
		return nil, err
	}
	c.AtStop(func() error { referee.Stop(); return nil })
	return &environment{c, referee}, nil
}

// startCluster brings up a cluster for one test.
func startCluster(t testing.TB, options controlplane.Options) *environment {
	t.Helper()
	env, err := withReferee(cluster.Own(t, options))
	require.NoError(t, err)
	return env
}
