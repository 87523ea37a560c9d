// Package cluster is what all tests on a real control plane share: it starts clusters, makes a namespace for each test, waits,
// creates and patches objects, and reads the audit log. docs/contributing/testing.md says which tests belong here.
package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
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
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// startPatience is how long a cluster may take to start on a loaded machine.
const startPatience = 5 * time.Minute

// maxOwnClusters is how many clusters of single tests run at a time on this machine: each takes half a gigabyte, two processors for
// seconds while it starts, and a twentieth of one while nothing happens.
const maxOwnClusters = 2

// Scheme knows all kinds that tests use.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	log.SetLogger(klog.Background()) // of controller-runtime's client, which complains at length without one
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, coscheduling.AddToScheme,
		v1alpha1.AddToScheme, batchapi.AddToScheme, appsapi.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// Cluster is a cluster that tests use.
type Cluster struct {
	*controlplane.Cluster
	// API is a client of the administrator.
	API client.WithWatch
	// Dir contains everything that belongs to the cluster.
	Dir string

	// ofOneTest reports that it is stopped when the test that has it ends, so that nothing in it need be deleted before.
	ofOneTest bool

	atStop []func() error

	monitorLock  sync.Mutex
	monitorToken string // of somebody who may read metrics
}

// Start starts a cluster in a directory of its own. It has four nodes unless the options say otherwise, and pods without a readiness
// probe count as ready at once there: the pods of tests have none, and few tests are about that.
func Start(ctx context.Context, options controlplane.Options) (*Cluster, error) {
	release, err := claimStart()
	if err != nil {
		return nil, err
	}
	defer release()
	if err := collectSeldom(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if options.Dir, err = os.MkdirTemp("", "podsequence-test-"); err != nil {
		return nil, fmt.Errorf("make directory of the cluster: %w", err)
	}
	if options.Nodes == 0 {
		options.Nodes = 4
	}
	if options.UnprobedReadySeconds == nil {
		options.UnprobedReadySeconds = new(int32)
	}
	c := &Cluster{Dir: options.Dir}
	if c.Cluster, err = controlplane.Start(ctx, options); err != nil {
		return nil, err
	}
	if c.API, err = client.NewWithWatch(c.Config(), client.Options{Scheme: Scheme}); err != nil {
		return nil, errors.Join(err, c.StopAndClean(false))
	}
	if err := c.writeKubectl(); err != nil {
		return nil, errors.Join(err, c.StopAndClean(false))
	}
	return c, nil
}

// collectSeldom makes all programs that tests start collect garbage less often: memory is plenty, processors are few. Benchmarks
// keep the default, because they measure what users get.
func collectSeldom() error {
	bench := flag.Lookup("test.bench")
	if bench == nil || bench.Value.String() != "" || os.Getenv("GOGC") != "" {
		return nil
	}
	return os.Setenv("GOGC", "400")
}

// claimStart waits until no other test, in whichever process, starts a cluster. Several at a time would take longer each, and
// on a slow machine too long.
func claimStart() (release func(), err error) {
	return lock("start", 0)
}

// claimOwn waits until fewer than maxOwnClusters tests, in whichever processes, have a cluster for themselves.
func claimOwn(ctx context.Context) (release func(), err error) {
	for {
		for i := range maxOwnClusters {
			release, err := lock(fmt.Sprintf("own-%d", i), syscall.LOCK_NB)
			if !errors.Is(err, syscall.EWOULDBLOCK) {
				return release, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(longestPause):
		}
	}
}

// lock takes a lock that all processes of this user share. It ends with the process, at the latest.
func lock(name string, how int) (release func(), err error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("podsequence-test-%s-%d.lock", name, os.Getuid()))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|how); err != nil {
		return nil, errors.Join(fmt.Errorf("take lock: %w", err), file.Close())
	}
	return func() { _ = file.Close() }, nil // which gives it back
}

// AtStop registers a function that runs before the cluster stops. The one that was added last runs first.
func (c *Cluster) AtStop(do func() error) { c.atStop = append(c.atStop, do) }

// StopAndClean stops the cluster. It removes the logs if nobody needs them, and else says where they are.
func (c *Cluster) StopAndClean(clean bool) error {
	var errs []error
	for i := len(c.atStop) - 1; i >= 0; i-- {
		errs = append(errs, c.atStop[i]())
	}
	err := errors.Join(append(errs, c.Stop(context.Background()))...)
	if clean && err == nil {
		return os.RemoveAll(c.Dir)
	}
	fmt.Fprintln(os.Stderr, "the logs of all components are in", filepath.Join(c.Dir, "logs"))
	return err
}

// Own starts a cluster that one test has for itself. It waits until few others run.
func Own(t testing.TB, options controlplane.Options) *Cluster {
	t.Helper()
	release, err := claimOwn(t.Context())
	require.NoError(t, err)
	t.Cleanup(release)
	c, err := Start(t.Context(), options)
	require.NoError(t, err)
	c.ofOneTest = true
	t.Cleanup(func() { assert.NoError(t, c.StopAndClean(!t.Failed())) })
	return c
}
