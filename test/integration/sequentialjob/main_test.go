// Package sequentialjob tests what users of SequentialJobs see, on a real control plane: Jobs are run by the real Job
// controller, and their pods ended by KWOK. One cluster serves all tests of a run, each in a namespace of its own.
package sequentialjob

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/podsequence/apis/batch/v1alpha1"
	scheduling "example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/controlplane"
)

// Of the cluster that all tests share.
var (
	cluster *controlplane.Cluster
	scheme  = runtime.NewScheme()
	api     client.WithWatch
)

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetLogger(klog.Background()) // of controller-runtime's client, which complains at length without one
	// Stories wait for pods to end most of the time, whatever the number of processors.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
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
	dir, err := os.MkdirTemp("", "podsequence-sequentialjob-")
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

	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme, scheduling.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	if api, err = client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
