// Package deploymentcoordination tests what users of DeploymentCoordinations see, on a real control plane with the real
// Deployment controller and our real controller under its own ServiceAccount. One cluster serves all tests of a run, each
// in a namespace of its own, and a watcher that shares no code with the controller judges every one of them.
package deploymentcoordination

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/controlplane"
	"example.com/podsequence/internal/rolloutcheck"
)

// Of the cluster that all tests share.
var (
	cluster *controlplane.Cluster
	api     client.WithWatch
	watcher *rolloutcheck.Watcher
)

func TestMain(m *testing.M) {
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
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	bin, err := controlplane.FindBin()
	if err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "podsequence-rollouts-")
	if err != nil {
		return 1, err
	}
	cluster, err = controlplane.Start(ctx, controlplane.Options{Dir: dir, Bin: bin, Nodes: 2, AuditLog: true})
	if err != nil {
		return 1, err
	}
	defer func() {
		if stopErr := cluster.Stop(context.Background()); stopErr != nil && err == nil {
			code, err = 1, stopErr
		}
		if code == 0 {
			err = os.RemoveAll(dir)
			return
		}
		fmt.Fprintln(os.Stderr, "the logs of all components are in", dir+"/logs")
	}()

	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	if api, err = client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	etcd, err := cluster.EtcdConfig()
	if err != nil {
		return 1, err
	}
	if watcher, err = rolloutcheck.Start(ctx, etcd); err != nil {
		return 1, err
	}
	defer watcher.Stop()
	return m.Run(), nil
}
