package childprocess

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain keeps the first thread, which never ends, for itself.
func TestMain(m *testing.M) {
	runtime.LockOSThread()
	os.Exit(m.Run())
}

func TestAChildOutlivesTheThreadThatAskedForIt(t *testing.T) {
	for name, tt := range map[string]struct {
		start func(*exec.Cmd) error
		lives bool
	}{
		"started here":        {Start, true},
		"started by exec.Cmd": {(*exec.Cmd).Start, false},
	} {
		t.Run(name, func(t *testing.T) {
			child := exec.Command("cat")
			child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			input, err := child.StdinPipe()
			require.NoError(t, err)
			output, err := child.StdoutPipe()
			require.NoError(t, err)
			thread := make(chan int)
			result := make(chan error, 1)
			go func() {
				runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
				result <- tt.start(child)
				thread <- syscall.Gettid()
			}()
			require.NoError(t, <-result)
			ended := fmt.Sprintf("/proc/self/task/%d", <-thread)
			require.Eventually(t, func() bool { _, err := os.Stat(ended); return os.IsNotExist(err) }, time.Minute, time.Millisecond)

			_, _ = io.WriteString(input, "alive\n") // one that was killed does not read it
			line, _ := bufio.NewReader(output).ReadString('\n')
			assert.Equal(t, tt.lives, line == "alive\n")
			require.NoError(t, input.Close())
			assert.Equal(t, tt.lives, child.Wait() == nil)
		})
	}
}
