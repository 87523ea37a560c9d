package cluster

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ProcessorTime returns how much processor time a process has spent so far, in user space and in the kernel, to a hundredth of a second.
func ProcessorTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	// The second field is the program's name in parentheses, see proc_pid_stat(5).
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const third, user, system, tick = 3, 14, 15, time.Second / 100
	ticks := 0
	for _, field := range []string{fields[user-third], fields[system-third]} {
		count, err := strconv.Atoi(field)
		require.NoError(t, err)
		ticks += count
	}
	return time.Duration(ticks) * tick
}
