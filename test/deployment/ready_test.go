package deployment

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/manifests"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// A rolling update waits for new pods to be ready before it ends old ones, of which one leads.
func TestASchedulerThatWaitsToLeadIsReady(t *testing.T) {
	s := newSite(t)
	leader := leaseHolder(s)
	config := s.cluster.ConfigFile("scheduler-config.yaml")
	health := startScheduler(s, config)
	cluster.Await(s, "the standby to be ready", func() bool { return probe(s, health) == "ok" })
	assert.Equal(s, leader, leaseHolder(s), "it is no standby")
}

func TestASchedulerThatCannotListWhatItMustKnowIsNotReady(t *testing.T) {
	s := newSite(t)
	// The stock scheduler's identity may do all that scheduling takes, but that is less than what groups expect.
	config := configWithoutLeaderElection(s, controlplane.Scheduler)
	health := startScheduler(s, config)
	cluster.Await(s, "the readiness probe to say why", func() bool {
		return strings.Contains(probe(s, health), " cannot be listed: ")
	})
}

func TestASchedulerThatKnowsEverythingIsReady(t *testing.T) {
	s := newSite(t)
	health := startScheduler(s, configWithoutLeaderElection(s, controlplane.PodSequenceScheduler))
	cluster.Await(s, "the scheduler to be ready", func() bool { return probe(s, health) == "ok" })
}

// configWithoutLeaderElection is the shipped configuration for a scheduler of other pods than those of the cluster's.
func configWithoutLeaderElection(s *site, identity string) string {
	s.Helper()
	shipped, err := manifests.FS.ReadFile("scheduler-config/scheduler-config.yaml")
	require.NoError(s, err)
	config := map[string]any{}
	require.NoError(s, yaml.Unmarshal(shipped, &config))
	config["leaderElection"] = map[string]any{"leaderElect": false}
	config["clientConnection"] = map[string]any{
		"kubeconfig": s.cluster.ConfigFile(identity + ".kubeconfig"),
	}
	config["profiles"].([]any)[0].(map[string]any)["schedulerName"] = "another"
	content, err := yaml.Marshal(config)
	require.NoError(s, err)
	path := filepath.Join(s.TempDir(), "scheduler-config.yaml")
	require.NoError(s, os.WriteFile(path, content, 0o600))
	return path
}

// startScheduler runs one more scheduler until the test ends, and returns where it can be asked for its health.
func startScheduler(s *site, config string) (address string) {
	s.Helper()
	return startProgram(s, controlplane.PodSequenceScheduler, "--config="+config, "--secure-port=0")
}

// startStandby runs one more controller, which waits to lead, until the test ends, and returns where it can be asked for its
// health.
func startStandby(s *site) (address string) {
	s.Helper()
	kubeconfig := s.cluster.ConfigFile(controlplane.PodSequenceController + ".kubeconfig")
	return startProgram(s, controlplane.PodSequenceController, "--kubeconfig="+kubeconfig, "--metrics-bind-address=0")
}

func startProgram(s *site, program string, args ...string) (address string) {
	s.Helper()
	port, address := cluster.FreeAddress(s)
	// With brackets, as in the Deployments, where they are there for IPv6.
	s.cluster.Run(s, program, append(args, fmt.Sprintf("--health-probe-bind-address=[127.0.0.1]:%d", port))...)
	return address
}

// probe returns what the readiness probe says, or nothing if nobody answers yet.
func probe(s *site, address string) string {
	s.Helper()
	response, err := http.Get("http://" + address + readyURL)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(s, err)
	assert.Equal(s, string(body) == "ok", response.StatusCode == http.StatusOK)
	return string(body)
}

// leaseHolder is who leads; it waits until somebody does.
func leaseHolder(s *site) string {
	s.Helper()
	lease := &coordinationv1.Lease{}
	cluster.Await(s, "a leader", func() bool {
		err := s.cluster.API.Get(s.Context(), client.ObjectKey{Namespace: systemNamespace, Name: "podsequence-scheduler"}, lease)
		return err == nil && lease.Spec.HolderIdentity != nil
	})
	return *lease.Spec.HolderIdentity
}
