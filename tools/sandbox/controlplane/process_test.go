package controlplane

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// What the test executable does instead of testing if it is run with one of these as its first argument.
const (
	roleComponent = "component-that-runs"
	roleStubborn  = "component-that-ignores-SIGTERM"
	roleParent    = "parent"
)

// testTimeout bounds every wait of these tests; nothing in them takes a tenth of it.
const testTimeout = 30 * time.Second

func TestMain(m *testing.M) {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	switch role {
	case roleComponent:
		waitForever()
	case roleStubborn:
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stdout, "ignoring")
		waitForever()
	case roleParent:
		dir, detach := os.Args[2], os.Args[3] == "true"
		if err := testProcess(Etcd, roleComponent).start(layout(dir), detach); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stdout, "started")
		waitForever()
	}
	log.SetLogger(klog.Background()) // of controller-runtime's client, which complains at length without one
	os.Exit(m.Run())
}

func waitForever() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	for range signals {
	}
}

// testProcess is a component whose program is this test executable.
func testProcess(name, role string) *process {
	return &process{Name: name, Path: os.Args[0], Args: []string{role}}
}

func newLayout(t *testing.T) layout {
	t.Helper()
	l := layout(t.TempDir())
	release, err := l.claim()
	require.NoError(t, err)
	defer release()
	require.NoError(t, l.reset())
	return l
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// killLater makes sure that a failed test leaves no process behind.
func killLater(t *testing.T, p *process) {
	t.Cleanup(func() { _ = p.signal(syscall.SIGKILL) })
}

func TestProcessIsFoundThroughItsRecord(t *testing.T) {
	l := newLayout(t)
	started := testProcess(Etcd, roleComponent)
	require.NoError(t, started.start(l, false))
	killLater(t, started)

	found, err := loadProcess(l, Etcd)
	require.NoError(t, err)
	assert.Equal(t, started, found)
	assert.True(t, found.alive())

	require.NoError(t, found.kill(testContext(t)))
	assert.False(t, found.alive())
	require.ErrorIs(t, found.signal(syscall.SIGTERM), os.ErrProcessDone)
}

func TestProcessWithRecycledIDIsLeftAlone(t *testing.T) {
	l := newLayout(t)
	stranger := testProcess(Etcd, roleComponent)
	require.NoError(t, stranger.start(l, false))
	killLater(t, stranger)

	recorded := *stranger
	recorded.StartTime--
	assert.False(t, recorded.alive())
	require.ErrorIs(t, recorded.kill(testContext(t)), os.ErrProcessDone)
	assert.True(t, stranger.alive())
}

func TestTerminate(t *testing.T) {
	t.Run("a process that was stopped gets the request, too", func(t *testing.T) {
		p := testProcess(Etcd, roleComponent)
		require.NoError(t, p.start(newLayout(t), false))
		killLater(t, p)
		require.NoError(t, p.signal(syscall.SIGSTOP))

		require.NoError(t, p.terminate(testContext(t), testTimeout))
		assert.False(t, p.alive())
	})
	t.Run("a process that ends before it can be continued has ended as it was asked to", func(t *testing.T) {
		for range 20 {
			p := testProcess(Etcd, roleComponent)
			require.NoError(t, p.start(newLayout(t), false))
			killLater(t, p)
			require.NoError(t, p.terminate(testContext(t), testTimeout))
			assert.False(t, p.alive())
		}
	})
	t.Run("a process that ignores the request is killed", func(t *testing.T) {
		l := newLayout(t)
		p := testProcess(Etcd, roleStubborn)
		require.NoError(t, p.start(l, false))
		killLater(t, p)
		ctx := testContext(t)
		waitUntil(ctx, t, func() bool {
			log, err := os.ReadFile(l.log(Etcd))
			return err == nil && len(log) > 0
		})

		require.NoError(t, p.terminate(ctx, time.Millisecond))
		assert.False(t, p.alive())
	})
}

func TestProcessesOfAKilledParent(t *testing.T) {
	tests := map[string]struct {
		detach    bool
		wantAlive bool
	}{
		"end with it":                    {detach: false, wantAlive: false},
		"go on without it when detached": {detach: true, wantAlive: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLayout(t)
			parent := exec.Command(os.Args[0], roleParent, string(l), strconv.FormatBool(tt.detach))
			output, err := parent.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, parent.Start())
			_, err = output.Read(make([]byte, 1))
			require.NoError(t, err)
			child, err := loadProcess(l, Etcd)
			require.NoError(t, err)
			killLater(t, child)
			require.True(t, child.alive())

			require.NoError(t, parent.Process.Kill())
			_ = parent.Wait() // It was killed, which is an error.
			if tt.wantAlive {
				assert.True(t, child.alive())
			} else {
				require.NoError(t, child.waitForExit(testContext(t)))
			}

			require.NoError(t, Stop(testContext(t), string(l)))
			assert.False(t, child.alive())
		})
	}
}

func TestProcessThatEndsDuringStartShowsItsLog(t *testing.T) {
	l := newLayout(t)
	require.NoError(t, os.WriteFile(l.log(Etcd), []byte("first line\nno space left\n"), 0o600))
	p := testProcess(Etcd, roleComponent)

	err := p.waitUntilHealthy(testContext(t), l, nil)
	require.ErrorContains(t, err, "wait for etcd: process ended")
	require.ErrorContains(t, err, "no space left")
	require.ErrorContains(t, err, l.log(Etcd))
}

func waitUntil(ctx context.Context, t *testing.T, condition func() bool) {
	t.Helper()
	require.NoError(t, wait.PollUntilContextCancel(ctx, exitPoll, true, func(context.Context) (bool, error) {
		return condition(), nil
	}))
}

func TestAComponentReturnsToItsPortWhenThatIsFree(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	p := &process{Name: "component", HealthURL: "http://" + listener.Addr().String() + "/readyz"}
	free := make(chan struct{})
	go func() {
		assert.NoError(t, p.awaitPorts(t.Context()))
		close(free)
	}()
	select {
	case <-free:
		assert.Fail(t, "somebody has the port")
	case <-time.After(10 * exitPoll):
	}
	require.NoError(t, listener.Close())
	<-free
}
