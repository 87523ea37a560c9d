// Package integration tests what users see, on a real control plane with our real programs under their own
// ServiceAccounts. One cluster serves all tests of a run, each in a namespace of its own, and a referee that shares no
// code with the engine judges every one of them.
package integration

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/controlplane"
	"example.com/podsequence/internal/ordercheck"
)

// Of the cluster that all tests share.
var (
	cluster *controlplane.Cluster
	api     client.WithWatch
	referee *ordercheck.Referee
)

func TestMain(m *testing.M) {
	flag.Parse()
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
	dir, err := os.MkdirTemp("", "podsequence-integration-")
	if err != nil {
		return 1, err
	}
	cluster, err = controlplane.Start(ctx, controlplane.Options{Dir: dir, Bin: bin, Nodes: 4, AuditLog: true})
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
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	if api, err = client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	if referee, err = ordercheck.Start(ctx, cluster.Config(), ordercheck.Options{}); err != nil {
		return 1, err
	}
	defer referee.Stop()
	return m.Run(), nil
}
