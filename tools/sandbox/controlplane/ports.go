package controlplane

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
)

// The range from which ports are chosen lies below that of ports the kernel gives to outgoing connections: while a
// component is down, nothing else may come to sit on the port it returns to. So that no other cluster does, each process that
// starts clusters has a part of the range for itself as long as it runs, and hands out a port again only after all others.
const (
	minPort        = 10_000
	maxPort        = 32_000
	portsOfProcess = 1_000
)

// processPorts are the ports of this process.
var processPorts struct {
	sync.Mutex
	order []int
	next  int
	free  func() // gives the part back: never called, but what it holds on to keeps the lock
}

// nextPort is the port of this process that was not handed out for the longest time.
func nextPort() int {
	processPorts.Lock()
	defer processPorts.Unlock()
	if processPorts.order == nil {
		claimPorts()
	}
	port := processPorts.order[processPorts.next%portsOfProcess]
	processPorts.next++
	return port
}

// claimPorts takes a part of the range that no other process has. If others have them all, it shares one.
func claimPorts() {
	var first int
	for _, part := range rand.Perm((maxPort - minPort) / portsOfProcess) {
		first = minPort + part*portsOfProcess
		free, err := lockFile(filepath.Join(os.TempDir(), fmt.Sprintf("podsequence-ports-%d-%d.lock", os.Getuid(), first)))
		if err == nil {
			processPorts.free = free
			break
		}
	}
	for _, i := range rand.Perm(portsOfProcess) {
		processPorts.order = append(processPorts.order, first+i)
	}
}

// portPool hands out free ports of 127.0.0.1. They stay occupied until release, so that no two are the same.
type portPool struct {
	listeners []net.Listener
}

func (p *portPool) take() (int, error) {
	const attempts = 100
	var errs []error
	for range attempts {
		port := nextPort()
		listener, err := net.Listen("tcp4", address(port))
		if err == nil {
			p.listeners = append(p.listeners, listener)
			return port, nil
		}
		errs = append(errs, err)
	}
	return 0, fmt.Errorf("find free port: %w", errors.Join(errs...))
}

func (p *portPool) release() {
	for _, listener := range p.listeners {
		_ = listener.Close()
	}
	p.listeners = nil
}

func address(port int) string {
	return fmt.Sprintf("127.0.0.1:%d", port)
}
