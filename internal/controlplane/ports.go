package controlplane

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// The range from which ports are chosen lies below that of ports the kernel gives to outgoing connections: while a
// component is down, nothing else may come to sit on the port it returns to.
const (
	minPort = 10_000
	maxPort = 32_000
)

// portPool hands out free ports of 127.0.0.1. They stay occupied until release, so that no two are the same.
type portPool struct {
	listeners []net.Listener
}

func (p *portPool) take() (int, error) {
	const attempts = 100
	var errs []error
	for range attempts {
		port := minPort + rand.IntN(maxPort-minPort)
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
