package controlplane

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/tools/sandbox/controlplane/stages"
)

// Files below layout.config.
const (
	auditPolicyFile     = "audit-policy.yaml"
	kwokConfigFile      = "kwok.yaml"
	schedulerConfigFile = "scheduler-config.yaml"

	stockSchedulerConfigFile = "stock-scheduler-config.yaml"
)

// The configurations of our scheduler that users get: beside kube-scheduler, and in place of it.
const (
	shippedSchedulerConfig        = "scheduler-config/scheduler-config.yaml"
	shippedDefaultSchedulerConfig = "scheduler-config/as-default-scheduler.yaml"
)

// AnotherScheduler is a second profile of the stock scheduler. Gated pods of the default one are given to ours, by a policy
// that is part of our installation.
const AnotherScheduler = "another-scheduler"

const stockSchedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: %q
  qps: 1000
  burst: 2000
profiles:
`

// auditPolicy records who did what to which object and when, which is what order and write counts are checked by.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// kwokOptions let many pods change at a time and turn off everything that reaches into a container.
const kwokOptions = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  enableDebuggingHandlers: false
  nodePlayStageParallelism: 16
  podPlayStageParallelism: 16
`

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
