// Package deployment tests what operators rely on, on a cluster to which the default installation was applied: that it is
// accepted, that permissions are enough and no more than that, that probes tell the truth, and that metrics are guarded.
package deployment

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	systemNamespace = "podsequence-system"
	readyURL        = "/readyz/podsequence"
)

// shared is the cluster of all tests that do not start one for themselves.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "podsequence-admission-")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "admission.yaml"), []byte(limitCriticalPods), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	options := asInProduction(controlplane.Options{ExtraArgs: map[string][]string{
		controlplane.APIServer: append(withPodGroups(), "--admission-control-config-file="+filepath.Join(dir, "admission.yaml")),
	}})
	cluster.Main(m, 4, options, func(c *cluster.Cluster) error {
		c.AtStop(func() error { return os.RemoveAll(dir) })
		shared = c
		return nil
	})
}

// withPodGroups are flags of an API server that serves Kubernetes' own PodGroups, if it knows them.
func withPodGroups() (flags []string) {
	gates, versions := cluster.NativePodGroups()
	for _, gate := range gates {
		flags = append(flags, "--feature-gates="+gate)
	}
	for _, version := range versions {
		flags = append(flags, "--runtime-config="+version)
	}
	return flags
}

// limitCriticalPods makes the API server refuse critical pods where no quota allows them, as some providers of clusters do.
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

// asInProduction turns on leader election, and logs as verbose as those of the Deployments.
func asInProduction(options controlplane.Options) controlplane.Options {
	options.Nodes, options.AuditLog, options.LeaderElection = 2, true, true
	extra := map[string][]string{
		controlplane.PodSequenceScheduler:  {"--v=2"},
		controlplane.PodSequenceController: {"--v=2"},
	}
	for component, args := range options.ExtraArgs {
		extra[component] = append(extra[component], args...)
	}
	options.ExtraArgs = extra
	return options
}

// site is a cluster with our installation, for one test.
type site struct {
	*testing.T
	cluster *cluster.Cluster
}

// newSite is the cluster that tests share.
func newSite(t *testing.T) *site { return &site{t, shared} }

// ownSite is a cluster that the test has for itself.
func ownSite(t *testing.T, options controlplane.Options) *site {
	t.Helper()
	return &site{t, cluster.Own(t, asInProduction(options))}
}

// changed is for tests that change the installation, and leave it as they found it.
var changed = cluster.Exclusive{Options: asInProduction(controlplane.Options{})}

// changedSite is a cluster that the test has for itself until it ends.
func changedSite(t *testing.T) *site {
	t.Helper()
	return &site{t, changed.Take(t)}
}

// in is the same cluster for a part of the test.
func (s *site) in(t *testing.T) *site { return &site{t, s.cluster} }

// newNamespace makes a namespace for one test. It stays: our programs are refused what they write to one that is deleted, and
// there is a test that they are refused nothing.
func newNamespace(s *site) string {
	s.Helper()
	return cluster.NewNamespace(s, s.cluster).Name
}

func create(s *site, objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		require.NoError(s, s.cluster.API.Create(s.Context(), object), "create %T %s", object, object.GetName())
	}
}

func get[T client.Object](s *site, object T, namespace, name string) T {
	s.Helper()
	require.NoError(s, s.cluster.API.Get(s.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object))
	return object
}
