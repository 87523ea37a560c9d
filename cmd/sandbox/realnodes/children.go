//go:build linux

package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// children are the processes that the first process of a node has started. It also inherits those whose parents have ended, such as the
// shims of containers, so it waits for any process, and not only for its own.
type children struct {
	lock  sync.Mutex
	ended map[int]chan error
}

func newChildren() *children {
	c := &children{ended: map[int]chan error{}}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	go func() {
		for range signals {
			c.reap()
		}
	}()
	return c
}

// reap takes note of all processes that have ended.
func (c *children) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		c.lock.Lock()
		ended, ours := c.ended[pid]
		delete(c.ended, pid)
		c.lock.Unlock()
		switch {
		case !ours:
		case status.Exited() && status.ExitStatus() == 0:
			ended <- nil
		case status.Signaled():
			ended <- fmt.Errorf("killed by %s", status.Signal())
		default:
			ended <- fmt.Errorf("exit code %d", status.ExitStatus())
		}
	}
}

// start starts a program. Its end is sent once.
func (c *children) start(path string, args []string, output *os.File) (pid int, _ <-chan error, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, nil, fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	defer func() { _ = null.Close() }()
	ended := make(chan error, 1)
	// The process may end before it is known here, but its end is not looked up meanwhile.
	c.lock.Lock()
	defer c.lock.Unlock()
	pid, err = syscall.ForkExec(path, args, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), output.Fd(), output.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, nil, err
	}
	c.ended[pid] = ended
	return pid, ended, nil
}

// kubelet is the node's kubelet, which may be stopped.
type kubelet struct {
	lock    sync.Mutex
	pid     int
	stopped bool
	// changed is closed when stopped changes or the process has ended.
	changed chan struct{}
}

// change returns a channel that is closed at the next change. The caller has the lock.
func (k *kubelet) change() <-chan struct{} {
	if k.changed == nil {
		k.changed = make(chan struct{})
	}
	return k.changed
}

func (k *kubelet) notify() {
	if k.changed != nil {
		close(k.changed)
		k.changed = nil
	}
}

// wait returns when the kubelet may run.
func (k *kubelet) wait() {
	k.until(func() bool { return !k.stopped })
}

func (k *kubelet) until(condition func() bool) {
	for {
		k.lock.Lock()
		if condition() {
			k.lock.Unlock()
			return
		}
		changed := k.change()
		k.lock.Unlock()
		<-changed
	}
}

func (k *kubelet) started(pid int) {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.pid = pid
	if k.stopped {
		k.kill() // It was asked to stop just before.
	}
}

func (k *kubelet) kill() {
	if err := syscall.Kill(k.pid, syscall.SIGKILL); err != nil {
		log.Printf("kill kubelet: %v", err)
	}
}

// run returns when the kubelet has ended.
func (k *kubelet) run(ended <-chan error) error {
	err := <-ended
	k.lock.Lock()
	defer k.lock.Unlock()
	k.pid = 0
	k.notify()
	return err
}

// stop returns when no kubelet runs.
func (k *kubelet) stop() {
	k.lock.Lock()
	k.stopped = true
	if k.pid != 0 {
		k.kill()
	}
	k.notify()
	k.lock.Unlock()
	k.until(func() bool { return k.pid == 0 })
}

// allow lets the kubelet start again.
func (k *kubelet) allow() {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.stopped = false
	k.notify()
}
