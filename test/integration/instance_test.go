package integration

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
)

// instance is one more process of a program that the cluster runs already: a standby, or a leader to stop.
type instance struct {
	*exec.Cmd
	Log string
}

// startInstance runs the program of a component with the arguments of the cluster's own instance, but on other ports. It
// ends with the test.
func (e *environment) startInstance(t testing.TB, component string, change func(args []string) []string) *instance {
	t.Helper()
	record := e.commandLine(t, component)
	for i, arg := range record.Args {
		name, value, _ := strings.Cut(arg, "=")
		switch {
		case name == "--secure-port":
			record.Args[i] = name + "=" + strconv.Itoa(freePort(t))
		case strings.HasSuffix(name, "-bind-address") && value != "127.0.0.1":
			record.Args[i] = name + "=127.0.0.1:" + strconv.Itoa(freePort(t))
		}
	}
	if change != nil {
		record.Args = change(record.Args)
	}

	log, err := os.CreateTemp(filepath.Dir(e.Log(component)), component+"-*.log")
	require.NoError(t, err)
	command := exec.Command(record.Path, record.Args...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, command.Start())
	require.NoError(t, log.Close())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return &instance{Cmd: command, Log: log.Name()}
}

// commandLine is how a component of the cluster was started.
type commandLine struct {
	Path string
	Args []string
}

func (e *environment) commandLine(t testing.TB, component string) commandLine {
	t.Helper()
	state := filepath.Join(filepath.Dir(e.Kubeconfig()), "state")
	content, err := os.ReadFile(filepath.Join(state, "processes", component+".json"))
	require.NoError(t, err)
	var line commandLine
	require.NoError(t, json.Unmarshal(content, &line))
	return line
}

func freePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}
