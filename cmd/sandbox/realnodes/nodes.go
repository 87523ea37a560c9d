//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.com/podsequence/tools/sandbox/childprocess"
	"example.com/podsequence/tools/sandbox/realnode"
)

// nodes are all nodes of a sandbox.
type nodes struct {
	all []*node
}

// node is one node, which runs or has crashed.
type node struct {
	realnode.Node
	config     *realnode.Config
	configFile string
	network    *network

	// lock is held while something is done to the node.
	lock sync.Mutex
	// process is the node's first one; nil if the node is off.
	process *exec.Cmd
	// gone is closed when it has ended, by a crash or by itself.
	gone chan struct{}
	// control is the connection to it, over which it is asked to stop or start its kubelet.
	control net.Conn
	// kubeletStopped says that it was asked to.
	kubeletStopped bool
	// offSince is when it last lost its power; zero if it never did.
	offSince time.Time
}

func newNodes(config *realnode.Config, network *network, configFile string) *nodes {
	n := &nodes{}
	for _, one := range config.Nodes {
		n.all = append(n.all, &node{Node: one, config: config, configFile: configFile, network: network})
	}
	return n
}

func (n *nodes) find(name string) *node {
	for _, one := range n.all {
		if one.Name == name {
			return one
		}
	}
	return nil
}

func (n *nodes) bootAll() error {
	errs := make([]error, len(n.all))
	var group sync.WaitGroup
	for i, one := range n.all {
		group.Go(func() { errs[i] = one.start() })
	}
	group.Wait()
	return errors.Join(errs...)
}

// end ends all nodes, and removes what is left of them but for their disks.
func (n *nodes) end() {
	for _, one := range n.all {
		if err := one.crash(); err != nil && !errors.Is(err, errOff) {
			fmt.Fprintln(os.Stderr, "error:", err)
		}
	}
	if len(n.all) > 0 {
		if err := realnode.RemoveCgroup(n.all[0].config.Cgroup); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
		}
	}
}

var (
	errOff            = errors.New("the node is off")
	errRuns           = errors.New("the node runs already")
	errKubeletStopped = errors.New("its kubelet is stopped already")
)

// do does what a user asks for.
func (n *node) do(action string) error {
	switch action {
	case "crash":
		return n.crash()
	case "start":
		return n.start()
	case "stop":
		return n.stop()
	case "reboot":
		if err := n.crash(); err != nil {
			return err
		}
		return n.start()
	default:
		return fmt.Errorf("unknown action %q", action)
	}
}

// state is what the node is said to be in.
func (n *node) state() string {
	n.lock.Lock()
	defer n.lock.Unlock()
	switch {
	case n.process == nil, n.hasEnded():
		return "off"
	case n.kubeletStopped:
		return "kubelet stopped"
	default:
		return "running"
	}
}

// hasEnded reports whether the first process, of a node that was booted, has ended.
func (n *node) hasEnded() bool {
	select {
	case <-n.gone:
		return true
	default:
		return false
	}
}

// stop ends the kubelet. Containers run on.
func (n *node) stop() error {
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.process == nil || n.hasEnded() {
		return errOff
	}
	if n.kubeletStopped {
		return errKubeletStopped
	}
	if err := n.ask(stopKubelet); err != nil {
		return err
	}
	n.kubeletStopped = true
	return nil
}

// start boots the node, or starts its kubelet if only that is stopped.
func (n *node) start() error {
	n.lock.Lock()
	defer n.lock.Unlock()
	switch {
	case n.process == nil:
		return n.boot()
	case n.hasEnded(): // by itself
		if err := n.powerOff(); err != nil {
			return err
		}
		return n.boot()
	case !n.kubeletStopped:
		return errRuns
	}
	if err := n.ask(startKubelet); err != nil {
		return err
	}
	n.kubeletStopped = false
	return nil
}

// ask tells the first process of the node what to do, and waits for its answer.
func (n *node) ask(what string) error {
	if _, err := fmt.Fprintln(n.control, what); err != nil {
		return fmt.Errorf("ask %s to %s: %w", n.Name, what, err)
	}
	answer, err := bufio.NewReader(n.control).ReadString('\n')
	if err != nil {
		return fmt.Errorf("ask %s to %s: %w", n.Name, what, err)
	}
	if answer = strings.TrimSpace(answer); answer != done {
		return fmt.Errorf("ask %s to %s: it says %q", n.Name, what, answer)
	}
	return nil
}

// cgroup is the path of the node's cgroup in each hierarchy.
func (n *node) cgroup() string {
	return filepath.Join(n.config.Cgroup, n.Name)
}

// earliestBoot is when a node that lost its power may boot. Machines take seconds for that. The API has times in whole seconds: if the
// node booted in the second in which a pod became ready, the pod would look ready in this boot.
func earliestBoot(offSince time.Time) time.Time {
	return offSince.Truncate(time.Second).Add(time.Second)
}

func (n *node) boot() (err error) {
	time.Sleep(time.Until(earliestBoot(n.offSince)))
	if err := n.writeFiles(); err != nil {
		return err
	}
	if err := realnode.MakeCgroup(n.cgroup()); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(n.disk(), "log", "boot.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log of %s: %w", n.Name, err)
	}
	defer func() { _ = log.Close() }()
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer func() { _ = theirs.Close() }()

	process := exec.Command("/proc/self/exe", enterCommand, n.configFile, n.Name)
	process.Stdout, process.Stderr = log, log
	process.ExtraFiles = []*os.File{theirs}
	process.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
		Setsid:     true,
	}
	if err := childprocess.Start(process); err != nil {
		_ = ours.Close()
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	gone := make(chan struct{})
	n.process, n.gone, n.control, n.kubeletStopped = process, gone, ours, false
	go func() {
		_ = process.Wait() // It returns once no process of the node is left, with the error that the first one was killed.
		close(gone)
	}()
	defer func() {
		if err != nil {
			err = errors.Join(err, n.powerOff())
		}
	}()
	if err := realnode.JoinCgroup(n.cgroup(), process.Process.Pid); err != nil {
		return err
	}
	if err := n.network.connect(n.Node, process.Process.Pid); err != nil {
		return err
	}
	return n.ask(proceed)
}

// crash is a power failure: all processes of the node end at once.
func (n *node) crash() error {
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.process == nil {
		return errOff
	}
	return n.powerOff()
}

// powerOff kills the first process, with which the kernel kills all others of its namespace, and removes their cgroups.
func (n *node) powerOff() error {
	if err := n.process.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", n.Name, err)
	}
	<-n.gone
	_ = n.control.Close()
	n.process, n.control, n.offSince = nil, nil, time.Now()
	return realnode.RemoveCgroup(n.cgroup())
}

func socketPair() (ours net.Conn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make connection to node: %w", err)
	}
	file := os.NewFile(uintptr(fds[0]), "control")
	theirs = os.NewFile(uintptr(fds[1]), "control")
	defer func() { _ = file.Close() }()
	ours, err = net.FileConn(file)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make connection to node: %w", err), theirs.Close())
	}
	return ours, theirs, nil
}
