// Package deployment tests what operators rely on, on a cluster to which the default installation was applied: that it is
// accepted, that permissions are enough and no more than that, that probes tell the truth, and that metrics are guarded.
package deployment

import (
	"context"
	"errors"
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
	patience = 3 * time.Minute
	readyURL = "/readyz/podsequence"
)

// Of the cluster that all tests share, or that a test has started for itself, see startCluster.
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
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	admission, err := os.CreateTemp("", "podsequence-admission-*.yaml")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.Remove(admission.Name())) }()
	if _, err := admission.WriteString(limitCriticalPods); err != nil {
		return 1, err
	}
	shared, err := start(ctx, controlplane.Options{ExtraArgs: map[string][]string{
		controlplane.APIServer: append(withPodGroups, "--admission-control-config-file="+admission.Name()),
	}})
	if err != nil {
		return 1, err
	}
	defer func() {
		if stopErr := shared.stop(code != 0); stopErr != nil && err == nil {
			code, err = 1, stopErr
		}
	}()
	shared.use()
	return m.Run(), nil
}

// withPodGroups are flags of an API server that serves Kubernetes' own PodGroups.
var withPodGroups = []string{"--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1beta1=true"}

// limitCriticalPods has critical pods refused where no quota allows them, as some providers of clusters do.
const limitCriticalPods = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources:
    - resource: pods
      matchScopes:
      - scopeName: PriorityClass
        operator: In
        values: [system-cluster-critical]
`

// testCluster is a cluster with our installation.
type testCluster struct {
	directory string
	cluster   *controlplane.Cluster
	api       client.Client
}

// start starts a cluster as in production: leaders are elected, and logs are those of the Deployments.
func start(ctx context.Context, options controlplane.Options) (*testCluster, error) {
	directory, err := os.MkdirTemp("", "podsequence-deployment-")
	if err != nil {
		return nil, err
	}
	options.Dir, options.Nodes, options.AuditLog, options.LeaderElection = directory, 2, true, true
	extra := map[string][]string{
		controlplane.PodSequenceScheduler:  {"--v=2"},
		controlplane.PodSequenceController: {"--v=2"},
	}
	for component, args := range options.ExtraArgs {
		extra[component] = append(extra[component], args...)
	}
	options.ExtraArgs = extra
	cluster, err := controlplane.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	c := &testCluster{directory: directory, cluster: cluster}
	if c.api, err = client.New(cluster.Config(), client.Options{Scheme: newScheme()}); err != nil {
		return nil, errors.Join(err, c.stop(true))
	}
	return c, nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme, appsapi.AddToScheme, batchv1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// use has the functions of this package act on the cluster.
func (c *testCluster) use() { directory, cluster, api = c.directory, c.cluster, c.api }

// stop stops the cluster. The logs are kept if something failed.
func (c *testCluster) stop(failed bool) error {
	if err := c.cluster.Stop(context.Background()); err != nil {
		return err
	}
	if failed {
		fmt.Fprintln(os.Stderr, "the logs of all components are in", filepath.Join(c.directory, "logs"))
		return nil
	}
	return os.RemoveAll(c.directory)
}

// startCluster has a test use a cluster of its own until it ends.
func startCluster(t *testing.T, options controlplane.Options) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	own, err := start(ctx, options)
	require.NoError(t, err)
	shared := &testCluster{directory, cluster, api}
	own.use()
	t.Cleanup(func() {
		shared.use()
		require.NoError(t, own.stop(t.Failed()))
	})
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
