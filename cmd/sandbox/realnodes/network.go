//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"example.com/podsequence/tools/sandbox/realnode"
)

const (
	bridge = "nodes"
	// uplink is the name of a node's link to the bridge, inside the node.
	uplink = "eth0"
)

// network is a network namespace without a name and without a way out: a bridge that the nodes hang on, and the address at which they
// reach the API server.
type network struct {
	config *realnode.Config
	// namespace keeps it alive.
	namespace *os.File
}

func newNetwork(config *realnode.Config) (*network, error) {
	n := &network{config: config}
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make network namespace: %w", err)
		}
		var err error
		if n.namespace, err = os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid())); err != nil {
			return fmt.Errorf("open network namespace: %w", err)
		}
		return n.makeGateway()
	})
	if err != nil {
		return nil, err
	}
	return n, n.forwardToAPIServer()
}

// onThread calls a function on a thread that nothing else runs on, neither now nor later: it may change the thread's namespaces.
func onThread(do func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		result <- do()
	}()
	return <-result
}

// inside calls a function in the network namespace.
func (n *network) inside(do func() error) error {
	return inNamespace(n.namespace, do)
}

func inNamespace(namespace *os.File, do func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace: %w", err)
		}
		return do()
	})
}

// makeGateway makes the bridge. It has the address of the API server, too.
func (n *network) makeGateway() error {
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridge}}); err != nil {
		return fmt.Errorf("make bridge: %w", err)
	}
	if err := setUp("lo"); err != nil {
		return err
	}
	if err := setUp(bridge, realnode.GatewayIP+"/24", realnode.APIServerIP+"/32"); err != nil {
		return err
	}
	for _, node := range n.config.Nodes {
		if err := addRoute(node.PodCIDR(), node.IP()); err != nil {
			return err
		}
	}
	return nil
}

func setUp(name string, addresses ...string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find link %s: %w", name, err)
	}
	for _, address := range addresses {
		parsed, err := netlink.ParseAddr(address)
		if err != nil {
			return fmt.Errorf("parse address %s: %w", address, err)
		}
		if err := netlink.AddrAdd(link, parsed); err != nil {
			return fmt.Errorf("give %s to link %s: %w", address, name, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("set up link %s: %w", name, err)
	}
	return nil
}

// addRoute leads a range of addresses, or all others if it is empty, to a gateway.
func addRoute(cidr, gateway string) error {
	route := &netlink.Route{Gw: net.ParseIP(gateway)}
	if cidr != "" {
		_, destination, err := net.ParseCIDR(cidr)
		if err != nil {
			return fmt.Errorf("parse route: %w", err)
		}
		route.Dst = destination
	}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("route %s to %s: %w", cidr, gateway, err)
	}
	return nil
}

// connect links a node, whose first process is pid, to the bridge.
func (n *network) connect(node realnode.Node, pid int) error {
	port := fmt.Sprintf("node%d", node.Index)
	err := n.inside(func() error {
		// The kernel removes what a crashed node had, but takes its time.
		if old, err := netlink.LinkByName(port); err == nil {
			if err := netlink.LinkDel(old); err != nil && !errors.Is(err, unix.ENODEV) {
				return fmt.Errorf("remove link %s: %w", port, err)
			}
		}
		master, err := netlink.LinkByName(bridge)
		if err != nil {
			return fmt.Errorf("find bridge: %w", err)
		}
		link := &netlink.Veth{
			LinkAttrs:     netlink.LinkAttrs{Name: port, MasterIndex: master.Attrs().Index},
			PeerName:      uplink,
			PeerNamespace: netlink.NsPid(pid),
		}
		if err := netlink.LinkAdd(link); err != nil {
			return fmt.Errorf("make link of %s: %w", node.Name, err)
		}
		return setUp(port)
	})
	if err != nil {
		return err
	}
	namespace, err := os.Open(filepath.Join("/proc", fmt.Sprint(pid), "ns/net"))
	if err != nil {
		return fmt.Errorf("open network namespace of %s: %w", node.Name, err)
	}
	defer func() { _ = namespace.Close() }()
	return inNamespace(namespace, func() error {
		if err := setUp("lo"); err != nil {
			return err
		}
		if err := setUp(uplink, node.IP()+"/24"); err != nil {
			return err
		}
		for _, other := range n.config.Nodes {
			if other.Index == node.Index {
				continue
			}
			if err := addRoute(other.PodCIDR(), other.IP()); err != nil {
				return err
			}
		}
		return addRoute("", realnode.GatewayIP)
	})
}

// dial connects to an address of a node or a pod.
func (n *network) dial(address string) (conn net.Conn, err error) {
	err = n.inside(func() error {
		conn, err = net.DialTimeout("tcp", address, 10*time.Second)
		return err
	})
	return conn, err
}

// forwardToAPIServer lets nodes and pods reach the API server as the Service kubernetes.
func (n *network) forwardToAPIServer() error {
	var listener net.Listener
	err := n.inside(func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(realnode.APIServerIP, "443"))
		return err
	})
	if err != nil {
		return fmt.Errorf("listen for nodes: %w", err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				log.Printf("Accept connection of a node: %v", err)
				return
			}
			go func() {
				server, err := net.Dial("tcp", n.config.APIServer)
				if err != nil {
					_ = conn.Close()
					return
				}
				join(conn, server)
			}()
		}
	}()
	return nil
}

// join copies between two connections, and closes both when both directions have ended or one has failed.
func join(a, b net.Conn) {
	var group sync.WaitGroup
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		group.Go(func() {
			to, from := pair[0], pair[1]
			_, err := io.Copy(to, from)
			half, ok := to.(interface{ CloseWrite() error })
			if err == nil && ok {
				err = half.CloseWrite()
			}
			if err != nil || !ok {
				_ = a.Close()
				_ = b.Close()
			}
		})
	}
	group.Wait()
	_ = a.Close()
	_ = b.Close()
}
