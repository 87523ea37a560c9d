// Package deployment tests what operators rely on, on a cluster to which the default installation was applied: that it is
// accepted, that permissions are enough and no more than that, that probes tell the truth, and that metrics are guarded.
package deployment

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchv1alpha1 "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/controlplane"
)

const (
	systemNamespace = "podsequence-system"
	// patience is how long something that must happen may take on a loaded machine.
	patience = 60 * time.Second
	readyURL = "/readyz/podsequence"
)

// Of the cluster that all tests share.
var (
	directory string
	cluster   *controlplane.Cluster
	api       client.Client
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
	if directory, err = os.MkdirTemp("", "podsequence-deployment-"); err != nil {
		return 1, err
	}
	// As in production: leaders are elected, and logs are those of the Deployments.
	cluster, err = controlplane.Start(ctx, controlplane.Options{
		Dir: directory, Nodes: 2, AuditLog: true, LeaderElection: true,
		ExtraArgs: map[string][]string{
			controlplane.APIServer:             {"--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1beta1=true"},
			controlplane.PodSequenceScheduler:  {"--v=2"},
			controlplane.PodSequenceController: {"--v=2"},
		},
	})
	if err != nil {
		return 1, err
	}
	defer func() {
		if stopErr := cluster.Stop(context.Background()); stopErr != nil && err == nil {
			code, err = 1, stopErr
		}
		if code == 0 {
			err = os.RemoveAll(directory)
			return
		}
		fmt.Fprintln(os.Stderr, "the logs of all components are in", filepath.Join(directory, "logs"))
	}()

	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(appsapi.AddToScheme(scheme))
	utilruntime.Must(batchv1alpha1.AddToScheme(scheme))
	if api, err = client.New(cluster.Config(), client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// newNamespace makes a namespace for one test.
func newNamespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "deployment-"}}
	require.NoError(t, api.Create(t.Context(), ns))
	// Pods are refused without it, and a busy controller-manager takes its time.
	await(t, "the account that pods need", func() bool {
		return api.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
	return ns.Name
}

func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		require.NoError(t, api.Create(t.Context(), object), "create %T %s", object, object.GetName())
	}
}

func get[T client.Object](t *testing.T, object T, namespace, name string) T {
	t.Helper()
	require.NoError(t, api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object))
	return object
}

func await(t *testing.T, what string, happened func() bool) {
	t.Helper()
	require.Eventually(t, happened, patience, 50*time.Millisecond, "waited for %s", what)
}
