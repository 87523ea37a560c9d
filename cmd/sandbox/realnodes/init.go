//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.com/podsequence/tools/sandbox/realnode"
)

// The two steps in which the first process of a node begins, and what it is asked for over the control connection.
const (
	enterCommand = "enter"
	initCommand  = "init"

	proceed      = "proceed"
	stopKubelet  = "stop-kubelet"
	startKubelet = "start-kubelet"
	done         = "done"
)

// controlFD is the control connection in the first process.
const controlFD = 3

// enter waits until its parent has put this process into its cgroups, makes these the root of what the node sees, and goes on as init.
func enter(args []string) error {
	// One byte at a time: what comes after the line is for init.
	var line []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(line), "\n"); line = append(line, b...) {
		if _, err := unix.Read(controlFD, b); err != nil {
			return fmt.Errorf("wait for cgroups: %w", err)
		}
	}
	// Of this thread only, which is the one that exec keeps.
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("make cgroup namespace: %w", err)
	}
	self := "/proc/self/exe"
	if err := syscall.Exec(self, append([]string{realnode.Program, initCommand}, args[1:]...), os.Environ()); err != nil {
		return fmt.Errorf("go on as init: %w", err)
	}
	return nil
}

// runInit is the first process of a node.
func runInit(config *realnode.Config, name string) error {
	log.SetFlags(log.LstdFlags | log.Lmicroseconds)
	unix.CloseOnExec(controlFD)
	i := &initProcess{disk: nodeDisk, children: newChildren()}
	for _, node := range config.Nodes {
		if node.Name == name {
			i.Node = node
		}
	}
	file := os.NewFile(controlFD, "control")
	control, err := net.FileConn(file)
	if err != nil {
		return fmt.Errorf("open control connection: %w", err)
	}
	if err := mountNode(config, i.Node); err != nil {
		return err
	}
	log.Print("booted")
	if _, err := fmt.Fprintln(control, done); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	if err := os.Setenv("PATH", nodeBin+":"+os.Getenv("PATH")); err != nil {
		return fmt.Errorf("set PATH: %w", err)
	}
	if err := i.startContainerd(); err != nil {
		return err
	}
	if err := i.importImages(); err != nil {
		return err
	}
	go func() {
		i.runBeforeKubelet()
		i.keepKubelet()
	}()
	return i.obey(control)
}

type initProcess struct {
	realnode.Node
	disk     string
	children *children
	kubelet  kubelet
}

// obey does what it is asked for, until the end of the node.
func (i *initProcess) obey(control net.Conn) error {
	for requests := bufio.NewScanner(control); requests.Scan(); {
		switch requests.Text() {
		case stopKubelet:
			i.kubelet.stop()
		case startKubelet:
			i.kubelet.allow()
		}
		log.Print(requests.Text())
		if _, err := fmt.Fprintln(control, done); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return errors.New("the parent is gone")
}

// startContainerd returns when containerd answers.
func (i *initProcess) startContainerd() error {
	ended, err := i.run("containerd.log", "containerd", "--config", nodeDisk+"/etc/containerd.toml")
	if err != nil {
		return err
	}
	go func() {
		log.Printf("containerd ended: %v", <-ended)
		os.Exit(1) // The node is of no use without it.
	}()
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			_ = conn.Close()
			log.Print("containerd answers")
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// importImages gives containerd the images of this build, unless the disk has them from an earlier boot.
func (i *initProcess) importImages() error {
	archives, err := filepath.Glob(nodeBin + "/*.tar")
	if err != nil {
		return fmt.Errorf("find images: %w", err)
	}
	var build strings.Builder
	for _, archive := range archives {
		info, err := os.Stat(archive)
		if err != nil {
			return fmt.Errorf("find images: %w", err)
		}
		fmt.Fprintln(&build, archive, info.Size(), info.ModTime().UnixNano())
	}
	stamp := filepath.Join(i.disk, "etc/images")
	if imported, err := os.ReadFile(stamp); err == nil && string(imported) == build.String() {
		return nil
	}
	for _, archive := range archives {
		ended, err := i.run("images.log", "ctr", "--address", socket, "--namespace", "k8s.io", "images", "import", archive)
		if err != nil {
			return err
		}
		if err := <-ended; err != nil {
			return fmt.Errorf("import image %s: %w", archive, err)
		}
	}
	log.Print("images imported")
	if err := os.WriteFile(stamp, []byte(build.String()), 0o600); err != nil {
		return fmt.Errorf("note imported images: %w", err)
	}
	return nil
}

// runBeforeKubelet runs what the disk of the node has for that, once per boot, with the kubelet's own credentials. If that fails, kubelet
// starts all the same.
func (i *initProcess) runBeforeKubelet() {
	programs, err := filepath.Glob(nodeDisk + "/before-kubelet.d/*")
	if err != nil {
		log.Printf("find what runs before kubelet: %v", err)
	}
	for _, program := range programs {
		ended, err := i.run("before-kubelet.log", "/usr/bin/env", "KUBECONFIG="+nodeDisk+"/etc/kubeconfig", program)
		if err == nil {
			err = <-ended
		}
		log.Printf("%s ended: %v", program, err)
	}
}

// keepKubelet starts kubelet whenever it does not run and may.
func (i *initProcess) keepKubelet() {
	for {
		i.kubelet.wait()
		ended, err := i.run("kubelet.log", "kubelet",
			"--config="+nodeDisk+"/etc/kubelet.yaml",
			"--kubeconfig="+nodeDisk+"/etc/kubeconfig",
			"--hostname-override="+i.Name,
			"--node-ip="+i.IP(),
			"--node-labels="+realnode.Label+"=true",
			"--v=2")
		if err != nil {
			log.Print(err)
			time.Sleep(time.Second)
			continue
		}
		log.Printf("kubelet ended: %v", i.kubelet.run(ended))
		time.Sleep(time.Second)
	}
}

// run starts a program, whose output is appended to a file of the log.
func (i *initProcess) run(logFile, program string, args ...string) (ended <-chan error, err error) {
	file, err := os.OpenFile(filepath.Join("/var/log", logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", program, err)
	}
	defer func() { _ = file.Close() }()
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", program, err)
	}
	pid, ended, err := i.children.start(path, append([]string{program}, args...), file)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	if program == "kubelet" {
		i.kubelet.started(pid)
	}
	return ended, nil
}
