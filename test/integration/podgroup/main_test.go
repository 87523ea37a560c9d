// Package podgroup tests what users of pod groups see, on a real control plane with the feature gate of Kubernetes' own
// PodGroups, and our real controller under its own ServiceAccount. One cluster serves most tests, each in a namespace of its
// own, and a witness that shares no code with the controller looks at every label that is given.
package podgroup

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
	"sigs.k8s.io/controller-runtime/pkg/client"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/controlplane"
)

// Of the cluster that all tests share.
var (
	cluster *controlplane.Cluster
	dir     string
	scheme  = runtime.NewScheme()
	api     client.WithWatch
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
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, coscheduling.AddToScheme, v1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if dir, err = os.MkdirTemp("", "podsequence-podgroup-"); err != nil {
		return 1, err
	}
	cluster, err = controlplane.Start(ctx, options(dir))
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
	if api, err = client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// options of a cluster with gang scheduling, whose stock scheduler places all pods.
func options(dir string) controlplane.Options {
	return controlplane.Options{
		Dir: dir, Nodes: 4, AuditLog: true,
		Components:    append(controlplane.UpstreamComponents(), controlplane.PodSequenceController),
		FeatureGates:  []string{"GenericWorkload=true"},
		RuntimeConfig: []string{"scheduling.k8s.io/v1beta1=true"},
		ExtraArgs:     map[string][]string{controlplane.PodSequenceController: {"--v=4"}},
	}
}
