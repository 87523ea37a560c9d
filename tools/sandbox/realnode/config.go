// Package realnode is what the sandbox and the program that runs its real nodes both know: a node is kubelet and containerd in
// namespaces of their own.
package realnode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Names of programs below the directory of the sandbox executable, see Dir.
const (
	// Dir is the directory of everything that nodes run.
	Dir = "real-nodes"
	// Program starts the nodes and ends with them.
	Program = "real-nodes"
)

// Label marks the real nodes.
const Label = "podsequence.example.com/real-node"

// The network that control plane, nodes and pods share. It leads nowhere else.
const (
	// GatewayIP is where the nodes' routes lead by default.
	GatewayIP = "10.77.0.1"
	// APIServerIP is that of the Service kubernetes. No kube-proxy runs: the gateway has the address itself.
	APIServerIP = "10.96.0.1"
	// MaxNodes is how many nodes the network has room for.
	MaxNodes = 100
)

// Config is what the program that runs the nodes reads when it starts.
type Config struct {
	// Dir contains a directory for each node: its disk.
	Dir string `json:"dir"`
	// Bin is the directory with the programs and images of nodes.
	Bin string `json:"bin"`
	// Listen is the address at which the program answers: health, what is done to nodes, and the API server's way to them.
	Listen string `json:"listen"`
	// APIServer is the address of the API server on this machine.
	APIServer string `json:"apiServer"`
	// CA, Cert and Key are files: the authority of the cluster and the certificate that the program serves with.
	CA   string `json:"ca"`
	Cert string `json:"cert"`
	Key  string `json:"key"`
	// Cgroup is the path of the nodes' cgroups in each hierarchy.
	Cgroup string `json:"cgroup"`
	// KubeletConfig is the file of a kubelet's configuration, which is merged over ours.
	KubeletConfig string `json:"kubeletConfig,omitempty"`
	// Nodes to run.
	Nodes []Node `json:"nodes"`
}

// Node is one node.
type Node struct {
	// Name of the node.
	Name string `json:"name"`
	// Index is what its addresses are made of.
	Index int `json:"index"`
	// Kubeconfig, Cert and Key are files: what kubelet is identified by as a client, and what it serves with.
	Kubeconfig string `json:"kubeconfig"`
	Cert       string `json:"cert"`
	Key        string `json:"key"`
}

// NodeName is the name of a node.
func NodeName(index int) string {
	return fmt.Sprintf("real-%d", index)
}

// IP is the node's own address.
func (n Node) IP() string {
	return fmt.Sprintf("10.77.0.%d", 10+n.Index)
}

// PodCIDR is the range of addresses of the node's pods.
func (n Node) PodCIDR() string {
	return fmt.Sprintf("10.88.%d.0/24", n.Index)
}

// Write writes the configuration to a file.
func (c *Config) Write(file string) error {
	content, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encode configuration of real nodes: %w", err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return fmt.Errorf("write configuration of real nodes: %w", err)
	}
	return nil
}

// Load reads a configuration that Write wrote.
func Load(file string) (*Config, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read configuration of real nodes: %w", err)
	}
	c := &Config{}
	if err := json.Unmarshal(content, c); err != nil {
		return nil, fmt.Errorf("decode configuration of real nodes: %w", err)
	}
	return c, nil
}

// Disk is the directory of a node that survives a power failure.
func (c *Config) Disk(node Node) string {
	return filepath.Join(c.Dir, node.Name)
}

// State is what a node does.
type State struct {
	// Name of the node.
	Name string `json:"name"`
	// State is "running", "kubelet stopped" or "off".
	State string `json:"state"`
}
