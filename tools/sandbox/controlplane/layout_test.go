package controlplane

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClaim(t *testing.T) {
	t.Run("takes a directory that is absent", func(t *testing.T) {
		release, err := layout(filepath.Join(t.TempDir(), "new")).claim()
		require.NoError(t, err)
		release()
	})
	t.Run("takes the directory of an earlier cluster", func(t *testing.T) {
		l := layout(t.TempDir())
		release, err := l.claim()
		require.NoError(t, err)
		require.NoError(t, l.reset())
		release()

		release, err = l.claim()
		require.NoError(t, err)
		release()
	})
	t.Run("refuses the directory while another holds it", func(t *testing.T) {
		l := layout(t.TempDir())
		release, err := l.claim()
		require.NoError(t, err)
		defer release()

		_, err = l.claim()
		require.ErrorContains(t, err, "another process is starting or stopping this sandbox")
	})
	t.Run("refuses a directory with files of others", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "logs"), 0o700))

		_, err := layout(dir).claim()
		require.ErrorContains(t, err, "holds files that are not a sandbox's")
		assert.DirExists(t, filepath.Join(dir, "logs"))
	})
}

func TestStopWithoutCluster(t *testing.T) {
	dir := t.TempDir()
	require.ErrorIs(t, Stop(t.Context(), dir), ErrNoCluster)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries, "a directory that is not ours was changed")
}

// A component that was killed comes back to its port, whatever cluster was started meanwhile.
func TestAPortIsNotHandedOutAgainSoon(t *testing.T) {
	seen := map[int]bool{}
	for range 500 {
		port, err := FreePort()
		require.NoError(t, err)
		assert.False(t, seen[port], "port %d is handed out again", port)
		seen[port] = true
	}
}

// A program that others start inherits a listener of ours, open or closed meanwhile, until it runs.
func TestAPortIsFreeWhileProgramsAreStarted(t *testing.T) {
	over := make(chan struct{})
	var starting sync.WaitGroup
	for range 4 {
		starting.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					_ = exec.Command("true").Run() // only that it is started matters
				}
			}
		})
	}
	defer starting.Wait()
	defer close(over)
	for range 200 {
		port, err := FreePort()
		require.NoError(t, err)
		p := &process{Name: "component", HealthURL: "http://" + address(port)}
		require.NoError(t, p.awaitPorts(t.Context()))
		listener, err := net.Listen("tcp4", address(port))
		require.NoError(t, err)
		require.NoError(t, listener.Close())
	}
}
