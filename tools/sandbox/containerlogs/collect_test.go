package containerlogs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// node is a directory of nodes in which a test writes logs.
type node struct {
	testing.TB
	dir string
}

func (n *node) write(path, text string) string {
	n.Helper()
	path = filepath.Join(n.dir, path)
	require.NoError(n, os.MkdirAll(filepath.Dir(path), 0o755))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(n, err)
	_, err = file.WriteString(text)
	require.NoError(n, err)
	require.NoError(n, file.Close())
	return path
}

func collect(t testing.TB) (*node, *Collector) {
	n := &node{t, t.TempDir()}
	c := Collect(n.dir)
	t.Cleanup(c.Stop)
	return n, c
}

func TestLinesOfAllContainersAreMergedByTheTimesThatProgramsPrinted(t *testing.T) {
	n, c := collect(t)
	n.write("real-0/log/pods/shop_app-7f_u2/main/1.log", "2026-11-25T12:00:09.5Z stdout F 2026-11-25T12:00:09.100Z STARTED serve\n")
	n.write("real-1/log/pods/shop_db-0_u1/main/0.log", "2026-11-25T12:00:09.2Z stderr F 2026-11-25T12:00:09.050Z READY\n"+
		"2026-11-25T12:00:09.3Z stdout F panic: something\n")
	n.write("real-1/log/pods/bank_db-0_u3/main/0.log", "2026-11-25T12:00:09.2Z stdout F 2026-11-25T12:00:09.050Z READY\n")
	assert.Equal(t, "12:00:09.050 real-1 db-0/main[0] READY\n"+
		"12:00:09.100 real-0 app-7f/main[1] STARTED serve\n"+
		"12:00:09.300 real-1 db-0/main[0] panic: something\n", c.Lines("shop").String())
	assert.Equal(t, "u2", c.Lines("shop").Where(Of("app"))[0].UID)
}

func TestALineCountsWhenItIsWhole(t *testing.T) {
	n, c := collect(t)
	const log = "real-0/log/pods/shop_db-0_u1/main/0.log"
	n.write(log, "2026-11-25T12:00:01Z stdout F STARTED\n2026-11-25T12:00:02Z std")
	assert.Len(t, c.Lines("shop"), 1)
	n.write(log, "out F READY\n")
	assert.Equal(t, "12:00:01.000 real-0 db-0/main[0] STARTED\n12:00:02.000 real-0 db-0/main[0] READY\n", c.Lines("shop").String())
}

func TestLinesOutliveTheirFile(t *testing.T) {
	n, c := collect(t)
	const log = "real-0/log/pods/shop_db-0_u1/main/0.log"
	path := n.write(log, "2026-11-25T12:00:01Z stdout F STARTED\n")
	assert.Len(t, c.Lines("shop"), 1)
	n.write(log, "2026-11-25T12:00:02Z stdout F EXIT 1\n")
	require.NoError(t, os.Remove(path))
	assert.Len(t, c.Lines("shop"), 2, "what was written before the removal")
	n.write(log, "2026-11-25T12:00:03Z stdout F STARTED\n")
	assert.Len(t, c.Lines("shop"), 3, "another file of the same path")
}

func TestFilesThatAreNoLogsOfPodsAreLeftAlone(t *testing.T) {
	n, c := collect(t)
	n.write("real-0/log/pods/shop_db-0/main/0.log", "2026-11-25T12:00:01Z stdout F STARTED\n")
	n.write("real-0/log/pods/shop_db-0_u1/main/0.log.gz", "2026-11-25T12:00:01Z stdout F STARTED\n")
	n.write("real-0/log/pods/shop_db-0_u1/main/x.log", "2026-11-25T12:00:01Z stdout F STARTED\n")
	n.write("real-0/log/pods/shop_db-0_u1/main/0.log", "not of a container runtime\n2026-11-25T12:00:01Z stdout F STARTED\n")
	assert.Len(t, c.Lines("shop"), 1)
}
