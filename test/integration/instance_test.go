package integration

import (
	"strconv"
	"strings"
	"testing"

	"example.com/podsequence/test/harness/cluster"
)

// startInstance runs the program of a component once more, with the arguments of the cluster's own instance but on other
// ports: a standby, or a leader to stop. It ends with the test.
func (e *environment) startInstance(t testing.TB, component string, change func(args []string) []string) *cluster.Program {
	t.Helper()
	args := e.Args(t, component)
	for i, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		port, address := cluster.FreeAddress(t)
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
	return e.Run(t, component, args...)
}
