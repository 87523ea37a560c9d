package deployment

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/internal/controlplane"
	"example.com/podsequence/manifests"
)

// A rolling update waits for new pods to be ready before it ends old ones, of which one leads.
func TestASchedulerThatWaitsToLeadIsReady(t *testing.T) {
	leader := leaseHolder(t)
	config := filepath.Join(directory, "state", "config", "scheduler-config.yaml")
	health := startScheduler(t, config)
	await(t, "the standby to be ready", func() bool { return probe(t, health) == "ok" })
	assert.Equal(t, leader, leaseHolder(t), "it is no standby")
}

func TestASchedulerThatCannotListWhatItMustKnowIsNotReady(t *testing.T) {
	// The stock scheduler's identity may do all that scheduling takes, but that is less than what groups expect.
	config := configWithoutLeaderElection(t, controlplane.Scheduler)
	health := startScheduler(t, config)
	await(t, "the readiness probe to say why", func() bool {
		return strings.Contains(probe(t, health), " cannot be listed: ")
	})
}

func TestASchedulerThatKnowsEverythingIsReady(t *testing.T) {
	health := startScheduler(t, configWithoutLeaderElection(t, controlplane.PodSequenceScheduler))
	await(t, "the scheduler to be ready", func() bool { return probe(t, health) == "ok" })
}

// configWithoutLeaderElection is the shipped configuration for a scheduler of other pods than those of the cluster's.
func configWithoutLeaderElection(t *testing.T, identity string) string {
	t.Helper()
	shipped, err := manifests.FS.ReadFile("scheduler-config/scheduler-config.yaml")
	require.NoError(t, err)
	config := map[string]any{}
	require.NoError(t, yaml.Unmarshal(shipped, &config))
	config["leaderElection"] = map[string]any{"leaderElect": false}
	config["clientConnection"] = map[string]any{
		"kubeconfig": filepath.Join(directory, "state", "config", identity+".kubeconfig"),
	}
	config["profiles"].([]any)[0].(map[string]any)["schedulerName"] = "another"
	content, err := yaml.Marshal(config)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "scheduler-config.yaml")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// startScheduler runs one more scheduler until the test ends, and returns where it can be asked for its health.
func startScheduler(t *testing.T, config string) (address string) {
	t.Helper()
	return startProgram(t, controlplane.PodSequenceScheduler, "--config="+config, "--secure-port=0")
}

// startStandby runs one more controller, which waits to lead, until the test ends, and returns where it can be asked for its
// health.
func startStandby(t *testing.T) (address string) {
	t.Helper()
	kubeconfig := filepath.Join(directory, "state", "config", controlplane.PodSequenceController+".kubeconfig")
	return startProgram(t, controlplane.PodSequenceController, "--kubeconfig="+kubeconfig, "--metrics-bind-address=0")
}

func startProgram(t *testing.T, program string, args ...string) (address string) {
	t.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address = listener.Addr().String()
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	require.NoError(t, listener.Close())

	log, err := os.Create(filepath.Join(directory, "logs", strings.ReplaceAll(t.Name(), "/", "-")+"-"+program+".log"))
	require.NoError(t, err)
	// With brackets, as in the Deployments, where they are there for IPv6.
	command := exec.Command(filepath.Join(bin, program), append(args, "--health-probe-bind-address=["+host+"]:"+port)...)
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		require.NoError(t, command.Process.Kill())
		_ = command.Wait() // it was killed
		require.NoError(t, log.Close())
	})
	return address
}

// probe returns what the readiness probe says, or nothing if nobody answers yet.
func probe(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get("http://" + address + readyURL)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, string(body) == "ok", response.StatusCode == http.StatusOK)
	return string(body)
}

// leaseHolder is who leads; it waits until somebody does.
func leaseHolder(t *testing.T) string {
	t.Helper()
	lease := &coordinationv1.Lease{}
	await(t, "a leader", func() bool {
		err := api.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: "podsequence-scheduler"}, lease)
		return err == nil && lease.Spec.HolderIdentity != nil
	})
	return *lease.Spec.HolderIdentity
}
