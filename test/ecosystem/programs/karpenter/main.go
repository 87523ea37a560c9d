// karpenter is Karpenter with its provider of simulated nodes, for a cluster that KWOK plays the kubelets of. All of its controllers are as
// Karpenter has them. Three things differ from the program of its provider: no port is open to other machines, nodes boot without the devices of
// their instance type, as if a device plugin listed them later, or, with the label example.com/never-ready, not at all, and
//
//	karpenter crds
//
// prints the definitions of its kinds.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	_ "unsafe" // for linkname

	"github.com/go-logr/zapr"
	"github.com/samber/lo"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	kwokapis "sigs.k8s.io/karpenter/kwok/apis"
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/apis"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "crds" {
		printDefinitions()
		return
	}
	ctx := injection.WithOptionsOrDie(context.Background(), options.Injectables...)
	op := newOperator(ctx)
	instanceTypes := lo.Must(kwok.ConstructInstanceTypes(ctx))
	undecorated := kwok.NewCloudProvider(ctx, booting{op.GetClient()}, instanceTypes)
	provider := overlay.Decorate(undecorated, op.GetClient(), op.InstanceTypeStore)
	cluster := state.NewCluster(op.Clock, op.GetClient(), provider)
	op.WithControllers(ctx, controllers.NewControllers(
		ctx, op.Manager, op.Clock, op.GetClient(), op.EventRecorder, provider, undecorated, cluster, op.InstanceTypeStore,
	)...).Start(ctx)
}

func printDefinitions() {
	definitions := [][]byte{
		apis.NodePoolCRD, apis.NodeClaimCRD, apis.NodeOverlayCRD, apis.CapacityBufferCRD, kwokapis.KWOKNodeClassCRD,
	}
	for _, definition := range definitions {
		fmt.Printf("---\n%s\n", definition)
	}
}

// newOperator returns what operator.NewOperator does, without ports and without an election.
func newOperator(ctx context.Context) *operator.Operator {
	logger := zapr.NewLogger(logging.NewLogger(ctx, "controller"))
	log.SetLogger(logger)
	klog.SetLogger(logger)
	config := ctrl.GetConfigOrDie()
	config.QPS, config.Burst = float32(options.FromContext(ctx).KubeClientQPS), options.FromContext(ctx).KubeClientBurst
	mgr := lo.Must(ctrl.NewManager(config, ctrl.Options{
		Logger:                 logging.IgnoreDebugEvents(logger),
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		BaseContext:            func() context.Context { return log.IntoContext(ctx, logger) },
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&coordinationv1.Lease{}: {Field: fields.SelectorFromSet(fields.Set{"metadata.namespace": "kube-node-lease"})},
		}},
	}))
	setupIndexers(ctx, mgr)
	return &operator.Operator{
		Manager:             mgr,
		KubernetesInterface: kubernetes.NewForConfigOrDie(config),
		EventRecorder:       events.NewRecorder(mgr.GetEventRecorderFor(operator.AppName)), //nolint:staticcheck // Karpenter uses events of core/v1
		Clock:               clock.RealClock{},
		InstanceTypeStore:   nodeoverlay.NewInstanceTypeStore(),
	}
}

// setupIndexers is Karpenter's own function. Nothing that it exports makes its indices without opening ports.
//
//go:linkname setupIndexers sigs.k8s.io/karpenter/pkg/operator.setupIndexers
func setupIndexers(ctx context.Context, mgr manager.Manager)

// booting creates nodes as kubelets do: without devices, which their plugins list later.
type booting struct{ client.Client }

// Create creates an object, a node without its devices.
func (b booting) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	if node, isNode := object.(*corev1.Node); isNode {
		node.Status.Capacity = withoutDevices(node.Status.Capacity)
		node.Status.Allocatable = withoutDevices(node.Status.Allocatable)
		if _, never := node.Labels["example.com/never-ready"]; never {
			delete(node.Annotations, "kwok.x-k8s.io/node") // nobody plays its kubelet
		}
	}
	return b.Client.Create(ctx, object, opts...)
}

func withoutDevices(resources corev1.ResourceList) corev1.ResourceList {
	return lo.OmitBy(resources, func(name corev1.ResourceName, _ resource.Quantity) bool {
		return strings.Contains(string(name), "/") // it has a domain
	})
}
