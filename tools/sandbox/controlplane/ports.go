package controlplane

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
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

// FreePort returns a port of 127.0.0.1 that nobody listens at, and that this process does not hand out again soon.
func FreePort() (int, error) {
	const attempts = 100
	for range attempts {
		if port := nextPort(); !isTaken(address(port)) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("find a free port: somebody listens at each of %d between %d and %d", attempts, minPort, maxPort)
}

// isTaken reports whether somebody listens at an address of this host. It does not find out by listening there: until a program that another
// goroutine starts at that moment runs, its process holds on to the listener, too, also if it is closed here, and the port stays taken.
func isTaken(address string) bool {
	connection, err := net.DialTimeout("tcp4", address, time.Second)
	if err == nil {
		_ = connection.Close()
	}
	return !errors.Is(err, syscall.ECONNREFUSED)
}

func address(port int) string {
	return fmt.Sprintf("127.0.0.1:%d", port)
}
