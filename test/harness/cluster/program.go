package cluster

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/podsequence/tools/sandbox/childprocess"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// Program is a process of one of our programs that a test runs besides those of the cluster.
type Program struct {
	*exec.Cmd
	// Log is where its output is.
	Log string
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

// FreeAddress is a port of this host that nobody listens at, and the address with it.
func FreeAddress(t testing.TB) (port int, address string) {
	t.Helper()
	port, err := controlplane.FreePort()
	require.NoError(t, err)
	return port, net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
