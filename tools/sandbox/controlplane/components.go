package controlplane

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/tools/sandbox/controlplane/stages"
	"example.com/podsequence/tools/sandbox/realnode"
)

// Second ports of components that need one.
const (
	etcdPeer         = "etcd-peer"
	schedulerHealth  = "podsequence-scheduler-health"
	controllerHealth = "podsequence-controller-health"
)

// plan knows how each component of one cluster is run.
type plan struct {
	Options
	layout
	ports map[string]int
}

// newPlan chooses the ports of all components. They are free when it returns.
func newPlan(options Options) (*plan, error) {
	p := &plan{Options: options, layout: layout(options.Dir), ports: map[string]int{}}
	for _, name := range append(Components(), RealNodes, etcdPeer, schedulerHealth, controllerHealth) {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		p.ports[name] = port
	}
	return p, nil
}

func (p *plan) url(scheme, port string) string {
	return scheme + "://" + address(p.ports[port])
}

// process makes the record of a component that has not been started yet.
func (p *plan) process(name string) *process {
	record := &process{
		Name: name,
		Path: p.executable(name),
		URL:  p.url("https", name),
	}
	record.HealthURL = record.URL + "/readyz"
	switch name {
	case Etcd:
		record.Args = p.etcdArgs(p.url("https", Etcd), p.url("https", etcdPeer), p.etcdData())
	case APIServer:
		record.Args = p.apiServerArgs()
	case ControllerManager:
		record.Args = p.controllerManagerArgs()
		record.HealthURL = record.URL + "/healthz"
	case Scheduler:
		record.Args = append(p.schedulerArgs(name), "--config="+p.config(stockSchedulerConfigFile))
	case Kwok:
		record.Args = p.kwokArgs()
		record.URL = p.url("http", name)
		record.HealthURL = record.URL + "/healthz"
	case RealNodes:
		record.Args = []string{"run", p.config(realNodesFile)}
		record.HealthURL = record.URL + "/healthz"
	case PodSequenceScheduler:
		record.Args = append(p.schedulerArgs(name), "--config="+p.config(schedulerConfigFile),
			"--health-probe-bind-address="+address(p.ports[schedulerHealth]))
	case PodSequenceController:
		record.Args = p.controllerArgs()
		record.HealthURL = p.url("http", controllerHealth) + "/readyz"
	}
	if len(p.FeatureGates) > 0 && slices.Contains([]string{APIServer, ControllerManager, Scheduler, PodSequenceScheduler}, name) {
		record.Args = append(record.Args, "--feature-gates="+strings.Join(p.FeatureGates, ","))
	}
	record.Args = append(record.Args, p.ExtraArgs[name]...)
	if isUpstream(name) && !p.isOfAnotherRelease(name) {
		record.Args = append([]string{"component", name, "--"}, record.Args...)
	}
	return record
}

func (p *plan) etcdArgs(client, peer, data string) []string {
	return []string{
		"--name=sandbox",
		"--data-dir=" + data,
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=sandbox=" + peer,
		"--client-cert-auth",
		"--trusted-ca-file=" + p.pki(caCertFile),
		"--cert-file=" + p.pki(servingCertFile),
		"--key-file=" + p.pki(servingKeyFile),
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + p.pki(caCertFile),
		"--peer-cert-file=" + p.pki(servingCertFile),
		"--peer-key-file=" + p.pki(servingKeyFile),
		// The data ends with the cluster, so it need not survive a crash of the machine.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func (p *plan) apiServerArgs() []string {
	args := append(p.servingArgs(APIServer),
		// No network leads to this host. Without this and the next flag the server looks for one.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--etcd-servers="+p.url("https", Etcd),
		"--etcd-cafile="+p.pki(caCertFile),
		"--etcd-certfile="+p.pki(etcdClientCertFile),
		"--etcd-keyfile="+p.pki(etcdClientKeyFile),
		"--client-ca-file="+p.pki(caCertFile),
		// No client has a certificate of that name, but components log errors until these settings are published.
		"--requestheader-client-ca-file="+p.pki(caCertFile),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged",
		"--service-cluster-ip-range="+serviceClusterIPRange,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+p.pki(serviceAccountKeyFile),
		"--service-account-signing-key-file="+p.pki(serviceAccountKeyFile),
	)
	if len(p.RuntimeConfig) > 0 {
		args = append(args, "--runtime-config="+strings.Join(p.RuntimeConfig, ","))
	}
	if p.wants(RealNodes) {
		args = append(args, p.realNodesArgs()...)
	}
	if p.AuditLog {
		args = append(args,
			"--audit-policy-file="+p.config(auditPolicyFile),
			"--audit-log-path="+p.auditLog(),
			// Tests read the log while the cluster is up, so entries must not wait in a buffer, and all of it, so it must
			// not be split, which it is at 100 MB by default.
			"--audit-log-mode=blocking-strict",
			"--audit-log-maxsize=10000",
		)
	}
	return args
}

func (p *plan) controllerManagerArgs() []string {
	return append(p.servingArgs(ControllerManager),
		"--kubeconfig="+p.componentKubeconfig(ControllerManager),
		"--authentication-kubeconfig="+p.componentKubeconfig(ControllerManager),
		"--authorization-kubeconfig="+p.componentKubeconfig(ControllerManager),
		"--use-service-account-credentials",
		"--service-account-private-key-file="+p.pki(serviceAccountKeyFile),
		"--root-ca-file="+p.pki(caCertFile),
		"--leader-elect=false",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--node-monitor-grace-period="+p.NodeMonitorGracePeriod.String(),
		"--enable-hostpath-provisioner",
	)
}

// schedulerArgs are the flags that the stock scheduler and ours share.
func (p *plan) schedulerArgs(name string) []string {
	return append(p.servingArgs(name),
		"--authentication-kubeconfig="+p.componentKubeconfig(name),
		"--authorization-kubeconfig="+p.componentKubeconfig(name),
	)
}

func (p *plan) kwokArgs() []string {
	return []string{
		"--config=" + p.config(kwokConfigFile),
		"--kubeconfig=" + p.componentKubeconfig(Kwok),
		"--server-address=" + address(p.ports[Kwok]),
		"--manage-nodes-with-annotation-selector=" + managedNodeAnnotation + "=" + managedNodeValue,
		"--cidr=10.244.0.0/16",
	}
}

func (p *plan) controllerArgs() []string {
	args := []string{
		"--kubeconfig=" + p.componentKubeconfig(PodSequenceController),
		"--metrics-bind-address=" + address(p.ports[PodSequenceController]),
		"--health-probe-bind-address=" + address(p.ports[controllerHealth]),
		"--leader-elect=" + strconv.FormatBool(p.LeaderElection),
	}
	if p.AsDefaultScheduler {
		args = append(args, "--scheduler-names="+corev1.DefaultSchedulerName+","+PodSequenceScheduler)
	}
	args = append(args, p.unprobedReadyFlags()...)
	for _, feature := range p.Without {
		args = append(args, "--controllers=-"+feature) // as the Deployment has it
	}
	return args
}

// servingArgs are the flags of every component that serves as Kubernetes' own do.
func (p *plan) servingArgs(name string) []string {
	return []string{
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(p.ports[name]),
		"--tls-cert-file=" + p.pki(servingCertFile),
		"--tls-private-key-file=" + p.pki(servingKeyFile),
	}
}

// writeFiles writes everything that components read before they can be started, except for the kubeconfigs of our
// programs, for which the API server has to be up.
func (p *plan) writeFiles(ca *authority) error {
	if err := writePKI(p.layout, ca); err != nil {
		return err
	}
	if err := p.writeUserKubeconfigs(ca); err != nil {
		return err
	}
	if p.wants(RealNodes) {
		if err := p.writeRealNodes(ca); err != nil {
			return err
		}
	}
	schedulerConfig, err := p.schedulerConfig()
	if err != nil {
		return err
	}
	kwokConfig, err := p.kwokConfig()
	if err != nil {
		return err
	}
	for file, content := range map[string]string{
		auditPolicyFile:     auditPolicy,
		kwokConfigFile:      kwokConfig,
		schedulerConfigFile: schedulerConfig,

		stockSchedulerConfigFile: p.stockSchedulerConfig(),
	} {
		if err := os.WriteFile(p.config(file), []byte(content), 0o600); err != nil {
			return fmt.Errorf("write configuration: %w", err)
		}
	}
	return nil
}

// kwokConfig joins KWOK's options and the stages that nodes and pods go through, unless the API server has these.
func (p *plan) kwokConfig() (string, error) {
	if p.ServeStages {
		return kwokOptions + "  enableCRDs: [Stage]\n", nil
	}
	ours, err := stages.Documents(p.NodeMonitorGracePeriod)
	if err != nil {
		return "", err
	}
	documents := slices.Concat([]string{kwokOptions}, ours, p.Stages)
	return strings.Join(documents, "\n---\n"), nil
}

// stockSchedulerConfig leaves the pods of the default scheduler to ours, if that takes its place.
func (p *plan) stockSchedulerConfig() string {
	config := fmt.Sprintf(stockSchedulerConfig, p.componentKubeconfig(Scheduler))
	if !p.AsDefaultScheduler {
		config += "- schedulerName: " + corev1.DefaultSchedulerName + "\n"
	}
	return config + "- schedulerName: " + AnotherScheduler + "\n"
}

// schedulerConfig is the shipped configuration, changed only in what this machine makes necessary.
func (p *plan) schedulerConfig() (string, error) {
	file := shippedSchedulerConfig
	if p.AsDefaultScheduler {
		file = shippedDefaultSchedulerConfig
	}
	shipped, err := fs.ReadFile(p.Manifests, file)
	if err != nil {
		return "", fmt.Errorf("read scheduler configuration: %w", err)
	}
	config := map[string]any{}
	if err := yaml.Unmarshal(shipped, &config); err != nil {
		return "", fmt.Errorf("decode scheduler configuration: %w", err)
	}
	kubeconfig := p.componentKubeconfig(PodSequenceScheduler)
	if err := unstructured.SetNestedField(config, kubeconfig, "clientConnection", "kubeconfig"); err != nil {
		return "", fmt.Errorf("set kubeconfig of the scheduler: %w", err)
	}
	if err := unstructured.SetNestedField(config, p.LeaderElection, "leaderElection", "leaderElect"); err != nil {
		return "", fmt.Errorf("set leader election of the scheduler: %w", err)
	}
	p.setUnprobedReady(config)
	content, err := yaml.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("encode scheduler configuration: %w", err)
	}
	return string(content), nil
}

// writeUserKubeconfigs gives the administrator and the upstream components the identities they have in any cluster.
func (p *plan) writeUserKubeconfigs(ca *authority) error {
	type user struct {
		name       string
		groups     []string
		kubeconfig string
	}
	users := []user{
		{name: "podsequence-sandbox-admin", groups: []string{"system:masters"}, kubeconfig: p.kubeconfig()},
		{name: "system:kube-controller-manager", kubeconfig: p.componentKubeconfig(ControllerManager)},
		{name: "system:kube-scheduler", kubeconfig: p.componentKubeconfig(Scheduler)},
		// KWOK plays all kubelets and has no role of its own in a cluster.
		{name: "kwok", groups: []string{"system:masters"}, kubeconfig: p.componentKubeconfig(Kwok)},
	}
	if p.AsDefaultScheduler {
		users = append(users, user{name: "system:kube-scheduler", kubeconfig: p.componentKubeconfig(PodSequenceScheduler)})
	}
	for _, user := range users {
		pair, err := ca.client(user.name, user.groups...)
		if err != nil {
			return err
		}
		if err := writeKubeconfig(user.kubeconfig, p.url("https", APIServer), ca.certPEM(), pair.authInfo()); err != nil {
			return err
		}
	}
	return nil
}

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

// setUnprobedReady writes Options.UnprobedReadySeconds into the arguments of the plugin in a scheduler configuration.
func (p *plan) setUnprobedReady(config map[string]any) {
	if p.UnprobedReadySeconds == nil {
		return
	}
	profiles, _ := config["profiles"].([]any)
	for _, profile := range profiles {
		profile, _ := profile.(map[string]any)
		plugins, _ := profile["pluginConfig"].([]any)
		for _, plugin := range plugins {
			plugin, _ := plugin.(map[string]any)
			args, _ := plugin["args"].(map[string]any)
			switch _, known := args[unprobedReadyArgument]; {
			case !known:
			case *p.UnprobedReadySeconds == shippedUnprobedReady:
				delete(args, unprobedReadyArgument)
			default:
				args[unprobedReadyArgument] = *p.UnprobedReadySeconds
			}
		}
	}
}

// unprobedReadyFlags are the flags of the controller that say the same.
func (p *plan) unprobedReadyFlags() []string {
	if p.UnprobedReadySeconds == nil || *p.UnprobedReadySeconds == shippedUnprobedReady {
		return nil
	}
	shipped, err := fs.ReadFile(p.Manifests, shippedSchedulerConfig)
	if err != nil || !bytes.Contains(shipped, []byte(unprobedReadyArgument)) {
		return nil
	}
	return []string{unprobedReadyFlag + strconv.Itoa(int(*p.UnprobedReadySeconds))}
}
