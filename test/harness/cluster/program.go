package cluster

import (
	"net"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// Program is a process of one of our programs that a test runs besides those of the cluster.
type Program struct {
	*exec.Cmd
	// Log is where its output is.
	Log string
}

// FreeAddress is a port of this host that nobody listens at, and the address with it.
func FreeAddress(t testing.TB) (port int, address string) {
	t.Helper()
	port, err := controlplane.FreePort()
	require.NoError(t, err)
	return port, net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
