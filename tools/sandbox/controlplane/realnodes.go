package controlplane

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
