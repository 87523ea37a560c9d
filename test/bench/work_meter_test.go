package bench

import (
	"bufio"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"example.com/podsequence/test/harness/cluster"
)

// countingTool counts the instructions of a process in user space, whatever else the machine does. Processors have counters of their
// own for this, which virtual machines seldom pass on.
const countingTool = "valgrind"

// syncedMetric is 1 once one of our programs knows all it must know.
const syncedMetric = "podsequence_engine_synced"

var profiles = flag.String("profiles", "", "`directory` in which callgrind's files stay, which name the scheduler's functions, and profiles of the soak")

// counted is a program of ours of which the instructions are counted. It runs some fifty times slower than by itself while they are.
type counted struct {
	*site
	name    string
	process *exec.Cmd
	// files begins the names of the files with the counts; each has the number of a dump behind it.
	files string
	dumps int
	// talk tells the tool and who talks to it where they meet.
	talk string
	// ended is closed once the process is no more.
	ended chan struct{}
	// Where the count began.
	spent map[string]time.Duration
}

// work is what a piece of work took.
type work struct {
	// instructions of the program that is counted, in user space, of all its threads.
	instructions float64
	// spent is the processor time of other components, by name.
	spent map[string]time.Duration
}

// startCounted runs a program that was killed in the cluster, from a file and with more arguments. Nothing is counted yet.
func (s *site) startCounted(program, file string, args ...string) *counted {
	s.b.Helper()
	tool, err := exec.LookPath(countingTool)
	require.NoError(s.b, err, "instructions are counted by %s, which must be installed", countingTool)
	dir := s.b.TempDir()
	if *profiles != "" {
		dir, err = os.MkdirTemp(*profiles, program+"-")
		require.NoError(s.b, err)
	}
	c := &counted{
		site: s, name: program, files: filepath.Join(dir, "instructions"), ended: make(chan struct{}),
		// Not in the directory for temporary files of all: a process that is killed leaves its pipes behind.
		talk: "--vgdb-prefix=" + filepath.Join(s.b.TempDir(), "pipe"),
	}
	log, err := os.OpenFile(s.Log(program), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(s.b, err)
	args = append(append([]string{
		"--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=" + c.files, c.talk, file,
	}, s.Args(s.b, program)...), args...)
	c.process = exec.Command(tool, args...)
	c.process.Env = countedEnvironment()
	c.process.Stdout, c.process.Stderr = log, log
	c.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(s.b, c.process.Start())
	go func() {
		_ = c.process.Wait() // it is killed
		close(c.ended)
	}()
	require.NoError(s.b, log.Close())
	s.b.Cleanup(c.stop)
	return c
}

// awaitReady waits until the program says that it is ready.
func (c *counted) awaitReady() {
	c.b.Helper()
	administrator, err := rest.HTTPClientFor(c.Config())
	require.NoError(c.b, err)
	url, err := c.URL(c.name)
	require.NoError(c.b, err)
	c.await(c.name+" to be ready", func() bool {
		response, err := administrator.Get(url + "/readyz")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
}

// countedEnvironment is that of a process of which the instructions are counted. It has one processor, so that no thread of its runtime
// spins while it looks for work, and does not collect garbage: whether a collection falls into the count is chance.
func countedEnvironment() []string {
	return append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1")
}

func (c *counted) stop() {
	_ = c.process.Process.Kill() // it may have ended
	<-c.ended
}

// signal sends a signal to the program, which is there.
func (c *counted) signal(which syscall.Signal) {
	c.b.Helper()
	require.NoError(c.b, c.process.Process.Signal(which))
}

// isGone reports whether the process has ended by itself. Some of valgrind's releases, such as 3.19, fail an assertion of their own now
// and then when a count begins while the program handles a signal ("vgCallgrind_post_signal").
func (c *counted) isGone() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// awaitBound waits until the pods are bound, and reports whether the program still runs.
func (c *counted) awaitBound(w *bindings, names []string) bool {
	c.b.Helper()
	next := 0
	c.await(fmt.Sprintf("%d pods to be bound", len(names)), func() bool {
		for ; next < len(names); next++ {
			if _, bound := w.of(names[next]); !bound {
				return c.isGone()
			}
		}
		return true
	})
	return !c.isGone()
}

// awaitIdle waits until the program does next to nothing, and reports whether it still runs. What follows a binding, such as the event of
// the pod that is bound now, belongs to the work: without the wait it would be in the count or not by chance.
func (c *counted) awaitIdle() bool {
	c.b.Helper()
	const moment, little = 300 * time.Millisecond, 30 * time.Millisecond
	var looked time.Time
	var before time.Duration
	c.await(c.name+" to be idle", func() bool {
		if c.isGone() {
			return true
		}
		if time.Since(looked) < moment {
			return false
		}
		now := cluster.ProcessorTime(c.b, c.process.Process.Pid)
		spent := now - before
		looked, before = time.Now(), now
		return spent < little
	})
	return !c.isGone()
}

// begin begins to count.
func (c *counted) begin(others ...string) {
	c.b.Helper()
	c.control("--instr=on")
	c.spent = map[string]time.Duration{}
	for _, name := range others {
		c.spent[name] = c.processorTime(name)
	}
}

// end ends what begin has begun.
func (c *counted) end() work {
	c.b.Helper()
	done := work{spent: map[string]time.Duration{}}
	for name, before := range c.spent {
		done.spent[name] = c.processorTime(name) - before
	}
	c.control("--instr=off")
	c.dumps++
	c.control("--dump")
	done.instructions = readCount(c.b, fmt.Sprintf("%s.%d", c.files, c.dumps))
	return done
}

// control talks to the tool in the process.
func (c *counted) control(what string) {
	c.b.Helper()
	output, err := exec.CommandContext(c.ctx, "callgrind_control", c.talk, what, strconv.Itoa(c.process.Process.Pid)).CombinedOutput()
	require.NoError(c.b, err, "callgrind_control %s: %s", what, output)
}

// readCount reads the sum of the instructions from a file of the tool.
func readCount(b *testing.B, file string) float64 {
	b.Helper()
	var total float64
	cluster.AwaitWithin(b, time.Minute, "the file of the count", func() bool {
		dump, err := os.Open(file)
		if err != nil {
			return false
		}
		defer func() { _ = dump.Close() }()
		for lines := bufio.NewScanner(dump); lines.Scan(); {
			if text, found := strings.CutPrefix(lines.Text(), "totals: "); found {
				total, err = strconv.ParseFloat(strings.TrimSpace(text), 64)
				return err == nil
			}
		}
		return false
	})
	return total
}

// processorTime returns how much a component has spent so far.
func (s *site) processorTime(component string) time.Duration {
	s.b.Helper()
	pid, err := s.PID(component)
	require.NoError(s.b, err)
	return cluster.ProcessorTime(s.b, pid)
}
