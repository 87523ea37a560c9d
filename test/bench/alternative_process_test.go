package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// alternativeVariable names the environment variable that makes this program run one of the alternatives instead of tests. Their
// processor time is then apart from that of the benchmark.
const alternativeVariable = "PODSEQUENCE_BENCH_ALTERNATIVE"

// alternative is a program that people use instead. It takes orders, one a line, and reports what it has done. Its context ends when the
// benchmark has no more orders.
type alternative func(ctx context.Context, config *rest.Config, orders <-chan string, report func(line string)) error

// alternatives are the programs by their names, which are also their user agents.
var alternatives = map[string]alternative{argoAgent: runWaves, waitingAgent: runWaits, readinessAgent: runNodeReadiness}

func TestMain(m *testing.M) {
	if name := os.Getenv(alternativeVariable); name != "" {
		if err := runAlternative(name, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "error: %s: %v\n", name, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runAlternative runs an alternative until it is done. KUBECONFIG says for which cluster.
func runAlternative(name string, in io.Reader, out io.Writer) error {
	run, known := alternatives[name]
	if !known {
		return fmt.Errorf("there is no alternative of that name")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return fmt.Errorf("read KUBECONFIG: %w", err)
	}
	config.UserAgent, config.QPS = name, -1
	// Watches that end with the benchmark would complain.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	orders := make(chan string)
	go func() {
		defer stop()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			select {
			case orders <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	var lock sync.Mutex
	return run(ctx, config, orders, func(line string) {
		lock.Lock()
		defer lock.Unlock()
		fmt.Fprintln(out, line)
	})
}

// agent is an alternative that runs.
type agent struct {
	b       *testing.B
	command *exec.Cmd
	orders  io.WriteCloser
	// heard is closed when the alternative has ended.
	heard chan struct{}
	ended bool
}

// runAgent runs an alternative until end is called, and calls hear for each of its reports.
func (s *site) runAgent(name, kubeconfig string, hear func(line string)) *agent {
	s.b.Helper()
	program, err := os.Executable()
	require.NoError(s.b, err)
	a := &agent{b: s.b, command: exec.Command(program), heard: make(chan struct{})}
	a.command.Env = append(os.Environ(), alternativeVariable+"="+name, "KUBECONFIG="+kubeconfig)
	a.command.Stderr = os.Stderr
	a.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	a.orders, err = a.command.StdinPipe()
	require.NoError(s.b, err)
	reports, err := a.command.StdoutPipe()
	require.NoError(s.b, err)
	require.NoError(s.b, a.command.Start())
	go func() {
		defer close(a.heard)
		for lines := bufio.NewScanner(reports); lines.Scan(); {
			hear(lines.Text())
		}
	}()
	return a
}

// tell gives an order.
func (a *agent) tell(words ...string) error {
	_, err := fmt.Fprintln(a.orders, strings.Join(words, " "))
	return err
}

// end ends the alternative, and returns how much processor time it took in all.
func (a *agent) end() time.Duration {
	a.b.Helper()
	require.False(a.b, a.ended, "an alternative ends once")
	a.ended = true
	require.NoError(a.b, a.orders.Close())
	<-a.heard
	require.NoError(a.b, a.command.Wait())
	return processorOf(a.command)
}

// processorOf returns how much processor time a command took that has ended.
func processorOf(command *exec.Cmd) time.Duration {
	return command.ProcessState.UserTime() + command.ProcessState.SystemTime()
}
