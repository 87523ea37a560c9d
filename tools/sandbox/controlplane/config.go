package controlplane

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
