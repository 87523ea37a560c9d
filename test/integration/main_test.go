// Package integration tests what users see, on a real control plane with our real programs under their own
// ServiceAccounts. One cluster serves most tests of a run, each in a namespace of its own, and a referee that shares no
// code with the engine judges every one of them.
package integration

import (
	"context"
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// asDefault runs all stories on clusters whose scheduler is ours, with pods that name none.
var asDefault = flag.Bool("as-default-scheduler", false, "run our scheduler in place of kube-scheduler")

// environment is a cluster and a referee that watches it.
type environment struct {
	*cluster.Cluster
	referee *ordercheck.Referee
	// scheduler is the profile of our scheduler that pods of stories name.
	scheduler string
}

// shared is what all tests use that do not need a cluster of their own.
var shared *environment

func TestMain(m *testing.M) {
	flag.Parse()
	victims.Options.AsDefaultScheduler = *asDefault
	cluster.Main(m, 10, victims.Options, func(c *cluster.Cluster) (err error) {
		if err := victims.Begin(c); err != nil {
			return err
		}
		if shared, err = withReferee(c, *asDefault, 0); err == nil {
			c.AtStop(func() error { shared.referee.Stop(); return nil })
		}
		return err
	})
}

// victims are for tests that kill programs and start them again, or do without a part of the installation for a while. With one cluster
// these two dozen would be the last that run.
var victims = cluster.Exclusive{
	Count:   2,
	Options: controlplane.Options{AuditLog: true},
	Begin: func(c *cluster.Cluster) error {
		c.AtStop(func() error { return writesAreOurs(c) })
		return nil
	},
}

// exclusively gives a test a cluster of victims until it ends.
func exclusively(t testing.TB) *environment {
	t.Helper()
	env, err := withReferee(victims.Take(t), *asDefault, 0)
	require.NoError(t, err)
	t.Cleanup(env.referee.Stop)
	return env
}

// startAgain starts a program as the cluster runs it, for the next test, whether it runs or has ended.
func (e *environment) startAgain(t testing.TB, program string) {
	t.Helper()
	if err := e.Kill(context.Background(), program); !errors.Is(err, os.ErrProcessDone) {
		require.NoError(t, err)
	}
	require.NoError(t, e.StartComponent(context.Background(), program))
}

// withReferee starts a referee that watches a cluster.
func withReferee(c *cluster.Cluster, asDefault bool, unprobedReadySeconds int32) (*environment, error) {
	etcd, err := c.EtcdConfig()
	if err != nil {
		return nil, err
	}
	env := &environment{Cluster: c, scheduler: ourScheduler}
	options := ordercheck.Options{UnprobedReady: time.Duration(unprobedReadySeconds) * time.Second}
	if asDefault {
		env.scheduler = corev1.DefaultSchedulerName
		options.SchedulerNames = []string{corev1.DefaultSchedulerName, ourScheduler}
	}
	env.referee, err = ordercheck.Start(context.Background(), etcd, options)
	return env, err
}

// startCluster brings up a cluster for one test.
func startCluster(t testing.TB, options controlplane.Options) *environment {
	t.Helper()
	if options.Installation == "" { // another one does not install our scheduler
		options.AsDefaultScheduler = options.AsDefaultScheduler || *asDefault
	}
	env, err := withReferee(cluster.Own(t, options), options.AsDefaultScheduler, ptr.Deref(options.UnprobedReadySeconds, 0))
	require.NoError(t, err)
	t.Cleanup(env.referee.Stop)
	return env
}
