package controlplane

import (
	"bytes"
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"example.com/podsequence/tools/sandbox/realnode"
)

// Files below layout.config and layout.pki.
const (
	realNodesFile      = "real-nodes.json"
	egressFile         = "egress.yaml"
	kubeletClientCert  = "kubelet-client.crt"
	kubeletClientKey   = "kubelet-client.key"
	kubeletClientName  = "kube-apiserver-kubelet-client"
	administratorGroup = "system:masters"
)

// egress leads what the API server wants of nodes and pods into the network that these have to themselves.
const egress = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      tcp:
        url: %q
        tlsConfig: {caBundle: %q, clientCert: %q, clientKey: %q}
`

// realNodesArgs are flags of the API server.
func (p *plan) realNodesArgs() []string {
	return []string{
		"--egress-selector-config-file=" + p.config(egressFile),
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority=" + p.pki(caCertFile),
		"--kubelet-client-certificate=" + p.pki(kubeletClientCert),
		"--kubelet-client-key=" + p.pki(kubeletClientKey),
	}
}

func (o *Options) completeRealNodes() error {
	if o.RealNodes < 0 || o.RealNodes > realnode.MaxNodes {
		return fmt.Errorf("number of real nodes is %d, want 0 to %d", o.RealNodes, realnode.MaxNodes)
	}
	if o.RealNodes > 0 && o.ControlPlane != "" {
		return errors.New("real nodes need the control plane of their own release: a kubelet must not be newer than its API server")
	}
	if o.KubeletConfig != "" {
		var err error
		if o.KubeletConfig, err = filepath.Abs(o.KubeletConfig); err != nil {
			return fmt.Errorf("resolve configuration of kubelets: %w", err)
		}
	}
	if o.NodeMonitorGracePeriod == 0 {
		o.NodeMonitorGracePeriod = simulatedGracePeriod
	}
	return nil
}

// writeRealNodes writes what identifies kubelets, and the API server before them, and what the nodes are made of.
func (p *plan) writeRealNodes(ca *authority) error {
	client, err := ca.client(kubeletClientName, administratorGroup)
	if err != nil {
		return err
	}
	config := &realnode.Config{
		Dir:           p.realNodes(),
		Bin:           filepath.Dir(p.executable(RealNodes)),
		Listen:        address(p.ports[RealNodes]),
		APIServer:     address(p.ports[APIServer]),
		CA:            p.pki(caCertFile),
		Cert:          p.pki(servingCertFile),
		Key:           p.pki(servingKeyFile),
		Cgroup:        realnode.CgroupName(p.Dir),
		KubeletConfig: p.KubeletConfig,
	}
	files := map[string][]byte{
		p.config(egressFile): fmt.Appendf(nil, egress, p.url("https", RealNodes),
			p.pki(caCertFile), p.pki(kubeletClientCert), p.pki(kubeletClientKey)),
		p.pki(kubeletClientCert): client.cert,
		p.pki(kubeletClientKey):  client.key,
	}
	for i := range p.RealNodes {
		name := realnode.NodeName(i)
		node := realnode.Node{
			Name: name, Index: i, Kubeconfig: p.componentKubeconfig(name), Cert: p.pki(name + ".crt"), Key: p.pki(name + ".key"),
		}
		config.Nodes = append(config.Nodes, node)
		serving, err := ca.issue(&x509.Certificate{
			Subject:     pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}},
			DNSNames:    []string{name},
			IPAddresses: []net.IP{net.ParseIP(node.IP())},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		})
		if err != nil {
			return err
		}
		files[node.Cert], files[node.Key] = serving.cert, serving.key
		kubelet, err := ca.client("system:node:"+name, "system:nodes")
		if err != nil {
			return err
		}
		server := "https://" + net.JoinHostPort(realnode.APIServerIP, "443")
		if err := writeKubeconfig(node.Kubeconfig, server, ca.certPEM(), kubelet.authInfo()); err != nil {
			return err
		}
	}
	for file, content := range files {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return fmt.Errorf("write files of real nodes: %w", err)
		}
	}
	return config.Write(p.config(realNodesFile))
}

// RealNodes says what the real nodes of the cluster do.
func (c *Cluster) RealNodes(ctx context.Context) ([]realnode.State, error) {
	content, err := c.askRealNodes(ctx, http.MethodGet, "/nodes")
	if err != nil {
		return nil, err
	}
	var states []realnode.State
	if err := json.Unmarshal(content, &states); err != nil {
		return nil, fmt.Errorf("decode states of real nodes: %w", err)
	}
	return states, nil
}

// CrashNode ends everything on a real node at once, as a power failure does. Its disk stays.
func (c *Cluster) CrashNode(ctx context.Context, name string) error {
	return c.changeNode(ctx, name, "crash")
}

// RebootNode crashes a real node and boots it from its disk.
func (c *Cluster) RebootNode(ctx context.Context, name string) error {
	return c.changeNode(ctx, name, "reboot")
}

// StopKubelet ends the kubelet of a real node. Its containers run on.
func (c *Cluster) StopKubelet(ctx context.Context, name string) error {
	return c.changeNode(ctx, name, "stop")
}

// StartNode boots a real node that has crashed, or starts its kubelet if that was stopped.
func (c *Cluster) StartNode(ctx context.Context, name string) error {
	return c.changeNode(ctx, name, "start")
}

func (c *Cluster) changeNode(ctx context.Context, name, action string) error {
	_, err := c.askRealNodes(ctx, http.MethodPost, "/nodes/"+name+"/"+action)
	if err != nil {
		return fmt.Errorf("%s node %s: %w", action, name, err)
	}
	return nil
}

func (c *Cluster) askRealNodes(ctx context.Context, method, path string) ([]byte, error) {
	url, err := c.URL(RealNodes)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, url+path, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for real nodes: %w", err)
	}
	response, err := c.health.admin.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for real nodes: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read answer about real nodes: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s", bytes.TrimSpace(body))
	}
	return body, nil
}
