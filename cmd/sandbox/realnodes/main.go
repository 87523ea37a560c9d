//go:build linux

// Real-nodes runs the real nodes of a sandbox: it makes the network that they share, boots them, and ends with them. The sandbox starts
// it as a component of the cluster.
//
// Each node is a process tree in namespaces of its own. Its first process is this program, too; see init.go.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"example.com/podsequence/tools/sandbox/realnode"
)

func main() {
	// Namespaces belong to threads. The first one shall be the one that a new node enters its cgroup namespace with.
	runtime.LockOSThread()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 && len(args) != 3 {
		return fmt.Errorf("usage: %s run CONFIG", realnode.Program)
	}
	config, err := realnode.Load(args[1])
	if err != nil {
		return err
	}
	switch {
	case args[0] == "run":
		return runNodes(config)
	case args[0] == enterCommand && len(args) == 3:
		return enter(args)
	case args[0] == initCommand && len(args) == 3:
		return runInit(config, args[2])
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
}

func runNodes(config *realnode.Config) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// What a process that was killed has left.
	if err := realnode.RemoveCgroup(config.Cgroup); err != nil {
		return err
	}
	network, err := newNetwork(config)
	if err != nil {
		return err
	}
	nodes := newNodes(config, network, os.Args[2])
	defer nodes.end()
	if err := nodes.bootAll(); err != nil {
		return err
	}
	return serve(ctx, config, network, nodes)
}
