// Package integration tests what users see, on a real control plane with our real programs under their own
// ServiceAccounts. One cluster serves all tests of a run, each in a namespace of its own, and a referee that shares no
// code with the engine judges every one of them.
package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/controlplane"
	"example.com/podsequence/internal/ordercheck"
)

// environment is a cluster, a client of its administrator and a referee that watches it.
type environment struct {
	cluster *controlplane.Cluster
	api     client.WithWatch
	referee *ordercheck.Referee
}

// shared is what all tests use that do not need a cluster of their own.
var shared *environment

func TestMain(m *testing.M) {
	// Stories mostly wait. Unless told otherwise more of those that may run beside others do than there are processors.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	flag.Parse()
	log.SetLogger(klog.Background()) // of controller-runtime's client, which complains at length without one
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	env, stop, err := start(controlplane.Options{AuditLog: true})
	if err != nil {
		return 1, err
	}
	shared = env
	code = m.Run()
	if err := writesAreOurs(env.cluster.AuditLog()); err != nil {
		return 1, errors.Join(err, stop(false))
	}
	return code, stop(code == 0)
}

// start brings up a cluster in a directory of its own. What it returns takes the cluster down again, and removes the
// logs, too, if nobody needs them.
func start(options controlplane.Options) (env *environment, stop func(clean bool) error, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if options.Dir, err = os.MkdirTemp("", "podsequence-integration-"); err != nil {
		return nil, nil, err
	}
	if options.Nodes == 0 {
		options.Nodes = 4
	}
	env = &environment{}
	if env.cluster, err = controlplane.Start(ctx, options); err != nil {
		return nil, nil, err
	}
	stop = func(clean bool) error {
		if env.referee != nil {
			env.referee.Stop()
		}
		if err := env.cluster.Stop(context.Background()); err != nil {
			return err
		}
		if clean {
			return os.RemoveAll(options.Dir)
		}
		fmt.Fprintln(os.Stderr, "the logs of all components are in", options.Dir+"/logs")
		return nil
	}

	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	if env.api, err = client.NewWithWatch(env.cluster.Config(), client.Options{Scheme: scheme}); err != nil {
		return nil, nil, errors.Join(err, stop(false))
	}
	etcd, err := env.cluster.EtcdConfig()
	if err != nil {
		return nil, nil, errors.Join(err, stop(false))
	}
	if env.referee, err = ordercheck.Start(ctx, etcd, ordercheck.Options{}); err != nil {
		return nil, nil, errors.Join(err, stop(false))
	}
	return env, stop, nil
}

// startCluster brings up a cluster for one test.
func startCluster(t testing.TB, options controlplane.Options) *environment {
	t.Helper()
	env, stop, err := start(options)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, stop(!t.Failed())) })
	return env
}
