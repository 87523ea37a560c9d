package controlplane

import (
	"os"
	"path/filepath"
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

func TestPortsAreDistinctAndFree(t *testing.T) {
	pool := &portPool{}
	defer pool.release()
	seen := map[int]bool{}
	for range 50 {
		port, err := pool.take()
		require.NoError(t, err)
		assert.False(t, seen[port])
		seen[port] = true
	}
}

// A component that was killed comes back to its port, whatever cluster was started meanwhile.
func TestAPortIsNotHandedOutAgainSoon(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		pool := &portPool{}
		for range 10 {
			port, err := pool.take()
			require.NoError(t, err)
			assert.False(t, seen[port], "port %d is handed out again", port)
			seen[port] = true
		}
		pool.release() // as if the components were down
	}
}
