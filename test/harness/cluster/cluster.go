// Package cluster is what all tests on a real control plane share: it starts clusters, makes a namespace for each test, waits,
// creates and patches objects, and reads the audit log. docs/contributing/testing.md says which tests belong here.
package cluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/tools/sandbox/childprocess"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// startPatience is how long a cluster may take to start on a loaded machine.
const startPatience = 5 * time.Minute

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

	monitor monitor
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

// path is a directory to put on the PATH, with a kubectl of the cluster's administrator.
func (c *Cluster) path() string { return filepath.Join(c.Dir, "path") }

func (c *Cluster) writeKubectl() error {
	bin, err := controlplane.FindBin()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.path(), 0o700); err != nil {
		return fmt.Errorf("make directory of kubectl: %w", err)
	}
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' --dir '%s' kubectl -- \"$@\"\n", filepath.Join(bin, "sandbox"), c.Dir)
	if err := os.WriteFile(filepath.Join(c.path(), "kubectl"), []byte(script), 0o700); err != nil {
		return fmt.Errorf("write kubectl: %w", err)
	}
	return nil
}

// Shell runs a command as a person would paste it who is the cluster's administrator.
func (c *Cluster) Shell(t testing.TB, command string) (output string, err error) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", command)
	shell.Env = append(os.Environ(), "PATH="+c.path()+":"+os.Getenv("PATH"), "KUBECONFIG="+c.Kubeconfig())
	text, err := shell.CombinedOutput()
	return string(text), err
}

// MustShell is Shell of what must succeed.
func (c *Cluster) MustShell(t testing.TB, command string) {
	t.Helper()
	output, err := c.Shell(t, command)
	require.NoError(t, err, "%s\n%s", command, output)
}

// Metric is the sum of a component's samples that begin so.
func (c *Cluster) Metric(t testing.TB, component, prefix string) float64 {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(c.Metrics(t, component)) {
		if strings.HasPrefix(line, prefix) {
			fields := strings.Fields(line)
			value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			require.NoError(t, err)
			sum += value
		}
	}
	return sum
}

// Metrics is what a component serves as its metrics to somebody who may read them and nothing else.
func (c *Cluster) Metrics(t testing.TB, component string) string {
	t.Helper()
	// Our controller has a certificate that it signed itself.
	return c.fetch(t, component, "/metrics", &http.Client{Transport: &bearer{c.monitor.token(t, c.API), &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}})
}

// Fetch is what a component serves to the administrator.
func (c *Cluster) Fetch(t testing.TB, component, path string) string {
	t.Helper()
	administrator, err := rest.HTTPClientFor(c.Config())
	require.NoError(t, err)
	return c.fetch(t, component, path, administrator)
}

func (c *Cluster) fetch(t testing.TB, component, path string, client *http.Client) string {
	t.Helper()
	url, err := c.URL(component)
	require.NoError(t, err)
	var response *http.Response
	// A program that has just started may not listen yet.
	Await(t, component+" to listen at "+url, func() bool {
		response, err = client.Get(url + path)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return false
		}
		require.NoError(t, err)
		return true
	})
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s%s: %s", url, path, body)
	return string(body)
}

// Run runs one of our programs until the test ends, or kills it. It ends with this process at the latest.
func (c *Cluster) Run(t testing.TB, program string, args ...string) *Program {
	t.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(t, err)
	log, err := os.CreateTemp(filepath.Dir(c.Log(program)), program+"-*.log")
	require.NoError(t, err)
	command := exec.Command(filepath.Join(bin, program), args...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	require.NoError(t, childprocess.Start(command))
	require.NoError(t, log.Close())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
	})
	return &Program{Cmd: command, Log: log.Name()}
}

// RunInstance runs another instance of one of our programs, with the arguments of the cluster's own but ports of its own. change, if it is
// not nil, may change the arguments.
func (c *Cluster) RunInstance(t testing.TB, program string, change func(args []string) []string) *Program {
	t.Helper()
	args := c.Args(t, program)
	for i, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		port, address := FreeAddress(t)
		switch {
		case name == "--secure-port":
			args[i] = name + "=" + strconv.Itoa(port)
		case strings.HasSuffix(name, "-bind-address") && value != "127.0.0.1":
			args[i] = name + "=" + address
		}
	}
	if change != nil {
		args = change(args)
	}
	return c.Run(t, program, args...)
}

// Args are the arguments with which the cluster runs a component.
func (c *Cluster) Args(t testing.TB, component string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(c.Dir, "state", "processes", component+".json"))
	require.NoError(t, err)
	var record struct{ Args []string }
	require.NoError(t, json.Unmarshal(content, &record))
	return record.Args
}

// ConfigFile is the path of a file of a component's configuration.
func (c *Cluster) ConfigFile(name string) string {
	return filepath.Join(c.Dir, "state", "config", name)
}

// ReadAuditLog goes through all requests of our programs that the audit log of the cluster has so far.
func (c *Cluster) ReadAuditLog(see func(*Request)) error {
	return c.ReadAudit(ours, see)
}

// ReadAudit goes through everybody's requests so far of which the audit log has this text. To decode the others would take long.
func (c *Cluster) ReadAudit(text string, see func(*Request)) error {
	return readAudit(c.AuditLog(), text, see)
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
