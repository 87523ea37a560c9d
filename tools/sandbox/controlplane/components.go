package controlplane

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
