package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/podsequence/manifests"
	"example.com/podsequence/tools/sandbox/realnode"
)

// The components of a cluster. Their names are also the names of their log files.
const (
	Etcd                  = "etcd"
	APIServer             = "kube-apiserver"
	ControllerManager     = "kube-controller-manager"
	Scheduler             = "kube-scheduler"
	Kwok                  = "kwok"
	PodSequenceScheduler  = "podsequence-scheduler"
	PodSequenceController = "podsequence-controller"

	// RealNodes is only there with Options.RealNodes.
	RealNodes = "real-nodes"
)

// sandboxExecutable is the program that all upstream components are compiled into.
const sandboxExecutable = "sandbox"

// controlPlaneVariable names the environment variable that tells tests which control plane to start, see
// Options.ControlPlane.
const controlPlaneVariable = "PODSEQUENCE_CONTROL_PLANE"

// Components lists every component in the order in which they depend on each other.
func Components() []string {
	return []string{
		Etcd, APIServer, ControllerManager, Scheduler, Kwok, PodSequenceScheduler, PodSequenceController,
	}
}

// UpstreamComponents lists the components that are not ours: a cluster as any user has it.
func UpstreamComponents() []string {
	return []string{Etcd, APIServer, ControllerManager, Scheduler, Kwok}
}

func isUpstream(name string) bool {
	return slices.Contains(UpstreamComponents(), name)
}

// Options say what kind of cluster Start brings up.
type Options struct {
	// Dir holds everything that belongs to the cluster. It must be empty, absent, or that of an earlier cluster.
	Dir string
	// Bin is the directory of the sandbox executable and of our two programs; by default that of FindBin.
	Bin string
	// ControlPlane is the directory of kube-apiserver, kube-controller-manager and kube-scheduler of another Kubernetes
	// release, as `make compat` builds them; by default that of the environment variable PODSEQUENCE_CONTROL_PLANE, or else
	// those that are part of the sandbox executable.
	ControlPlane string
	// Nodes is the number of nodes, named node-0 and so on, spread over three zones.
	Nodes int
	// NodeCapacity is what each node offers; by default more than any test asks for.
	NodeCapacity corev1.ResourceList
	// RealNodes is the number of nodes with kubelet, containerd and containers, named real-0 and so on.
	RealNodes int
	// KubeletConfig is a file with a KubeletConfiguration, which is merged over what the kubelets of real nodes have.
	KubeletConfig string
	// NodeMonitorGracePeriod is how long a node stays ready without a heartbeat; by default 20 minutes, so that no simulated node is
	// ever taken for dead on a busy machine. Clusters have 50 seconds.
	NodeMonitorGracePeriod time.Duration
	// Components are the components to start; nil means all of them. Etcd and the API server are not optional.
	Components []string
	// Manifests are those of an earlier release of ours, of which Bin then has the programs; by default those of this one.
	Manifests fs.FS
	// Installation is the kustomization under manifests/ that is applied; by default the one of the whole product.
	Installation string
	// AsDefaultScheduler makes our scheduler the one of the cluster, with the identity that kube-scheduler has. The stock
	// scheduler then has AnotherScheduler only.
	AsDefaultScheduler bool
	// Without are the features, by their directories under manifests/options/without, that are left out of the installation.
	Without []string
	// UnprobedReadySeconds is how long a pod without a readiness probe must be Ready before it counts, for both of our programs; by
	// default as shipped. A release whose manifests do not know it is started without it, and any release is if this is the default.
	UnprobedReadySeconds *int32
	// ExtraArgs are appended to the arguments of the component they are listed under.
	ExtraArgs map[string][]string
	// FeatureGates are set, as Name=true or Name=false, on every component that is built from Kubernetes' code, our scheduler
	// among them.
	FeatureGates []string
	// RuntimeConfig turns API versions on or off, as group/version=true.
	RuntimeConfig []string
	// Stages are YAML documents of KWOK Stages, played besides the sandbox's own.
	Stages []string
	// ServeStages makes the API server serve Stages, the sandbox's own among them, so that users can apply others and change them. KWOK
	// then reads them from there.
	ServeStages bool
	// AuditLog makes the API server record the metadata of every request in the file named by Cluster.AuditLog.
	AuditLog bool
	// LeaderElection makes our programs elect a leader before they act, as they do in production. Without it a
	// program that was killed works again as soon as it is started, and not only once its lease has run out.
	LeaderElection bool
	// Detach lets the components outlive the process that starts them. Without it they die with that process, even
	// if it is killed.
	Detach bool
	// Progress, if set, is told of every step of the start as it is done. Calls do not overlap.
	Progress func(Step)
}

// Step is a part of starting a cluster that has been done.
type Step struct {
	// Name is a component or what was made: "manifests", "nodes".
	Name string
	// State is what it has become, such as "ready".
	State string
	// Took is the time since the step began.
	Took time.Duration
}

func (o *Options) complete() error {
	if o.Dir == "" {
		return errors.New("no directory given for the cluster")
	}
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return fmt.Errorf("resolve directory of the cluster: %w", err)
	}
	if o.Bin == "" {
		if o.Bin, err = FindBin(); err != nil {
			return err
		}
	}
	if o.Bin, err = filepath.Abs(o.Bin); err != nil {
		return fmt.Errorf("resolve directory of the executables: %w", err)
	}
	if o.ControlPlane == "" {
		o.ControlPlane = os.Getenv(controlPlaneVariable)
	}
	if o.Nodes < 0 {
		return fmt.Errorf("number of nodes is negative: %d", o.Nodes)
	}
	if err := o.completeRealNodes(); err != nil {
		return err
	}
	if o.NodeCapacity == nil {
		o.NodeCapacity = corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("32"),
			corev1.ResourceMemory: resource.MustParse("256Gi"),
			corev1.ResourcePods:   resource.MustParse("1000"),
		}
	}
	if o.Components == nil {
		o.Components = Components()
	}
	for _, name := range o.Components {
		if !slices.Contains(Components(), name) {
			return unknownComponent(name)
		}
	}
	for _, name := range []string{Etcd, APIServer} {
		if !o.wants(name) {
			return fmt.Errorf("leave out %s: there is no cluster without it", name)
		}
	}
	if o.Manifests == nil {
		o.Manifests = manifests.FS
	}
	if o.Installation == "" {
		o.Installation = sandboxKustomization
		if o.AsDefaultScheduler {
			o.Installation = asDefaultKustomization
		}
	}
	for name := range o.ExtraArgs {
		if !slices.Contains(Components(), name) {
			return fmt.Errorf("place extra arguments: %w", unknownComponent(name))
		}
	}
	if o.Progress == nil {
		o.Progress = func(Step) {}
	}
	return o.checkExecutables()
}

// checkExecutables finds out before anything is started whether everything can be.
func (o *Options) checkExecutables() error {
	components := o.Components
	if o.wants(RealNodes) {
		components = append(slices.Clone(components), RealNodes)
	}
	for _, name := range components {
		path, build := o.executable(name), "make build"
		switch {
		case o.isOfAnotherRelease(name):
			build = "make compat"
		case name == RealNodes:
			build = "make build-real-nodes"
		}
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("find executable of %s (run %s): %w", name, build, err)
		}
	}
	return nil
}

func (o *Options) wants(name string) bool {
	if name == RealNodes {
		return o.RealNodes > 0
	}
	return slices.Contains(o.Components, name)
}

func unknownComponent(name string) error {
	return fmt.Errorf("unknown component %q, want one of %v", name, Components())
}

// isOfAnotherRelease reports whether a component is not the one that is part of the sandbox executable.
func (o *Options) isOfAnotherRelease(name string) bool {
	return o.ControlPlane != "" && slices.Contains([]string{APIServer, ControllerManager, Scheduler}, name)
}

// executable is the program that runs a component.
func (o *Options) executable(name string) string {
	switch {
	case o.isOfAnotherRelease(name):
		return filepath.Join(o.ControlPlane, name)
	case name == RealNodes:
		return filepath.Join(o.Bin, realnode.Dir, realnode.Program)
	case isUpstream(name):
		return filepath.Join(o.Bin, sandboxExecutable)
	default:
		return filepath.Join(o.Bin, name)
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
