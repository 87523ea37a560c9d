package controlplane

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// KWOK plays the kubelet of the nodes that carry this annotation.
const (
	managedNodeAnnotation = "kwok.x-k8s.io/node"
	managedNodeValue      = "fake"
)

// simulatedGracePeriod is how long a simulated node stays ready without a heartbeat. It is several times the interval of our
// heartbeat stage, which is long so that many nodes make little traffic.
const simulatedGracePeriod = 20 * time.Minute

// perNode is how much longer each node may take to be ready: thousands take more than a minute on a busy machine.
const perNode = 30 * time.Millisecond

// zones are given to the nodes in turn.
var zones = []string{"zone-a", "zone-b", "zone-c"}

func makeNode(index int, capacity corev1.ResourceList) *corev1.Node {
	name := fmt.Sprintf("node-%d", index)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:     name,
				corev1.LabelTopologyZone: zones[index%len(zones)],
				corev1.LabelOSStable:     "linux",
				corev1.LabelArchStable:   "amd64",
			},
			Annotations: map[string]string{managedNodeAnnotation: managedNodeValue},
		},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
}

func createNodes(ctx context.Context, client kubernetes.Interface, count int, capacity corev1.ResourceList) error {
	group, ctx := errgroup.WithContext(ctx)
	const parallel = 20
	group.SetLimit(parallel)
	for i := range count {
		group.Go(func() error {
			if _, err := client.CoreV1().Nodes().Create(ctx, makeNode(i, capacity), metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create node: %w", err)
			}
			return nil
		})
	}
	return group.Wait()
}

// waitForNodes returns when so many nodes take pods.
func waitForNodes(ctx context.Context, client kubernetes.Interface, count int) error {
	if count == 0 {
		return nil
	}
	ready := map[string]bool{}
	nodes := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "nodes", "", fields.Everything())
	timeout := startTimeout + time.Duration(count)*perNode
	return waitFor(ctx, timeout, "nodes to be ready", nodes, &corev1.Node{}, func(object runtime.Object) bool {
		if node := object.(*corev1.Node); takesPods(node) {
			ready[node.Name] = true
		}
		return len(ready) >= count
	})
}

// takesPods reports whether a node is ready and the taint it was created with has been taken off.
func takesPods(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// waitForDefaultServiceAccount returns when pods can be created in the default namespace: admission refuses them
// before.
func waitForDefaultServiceAccount(ctx context.Context, client kubernetes.Interface) error {
	accounts := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "serviceaccounts", metav1.NamespaceDefault,
		fields.OneTermEqualSelector(metav1.ObjectNameField, "default"))
	return waitFor(ctx, startTimeout, "default service account", accounts, &corev1.ServiceAccount{},
		func(runtime.Object) bool { return true })
}

// waitFor watches objects, those that exist already included, until one of them fulfils the condition.
func waitFor(
	ctx context.Context, timeout time.Duration, what string, objects cache.ListerWatcher, kind runtime.Object, done func(runtime.Object) bool,
) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := watchtools.UntilWithSync(ctx, objects, kind, nil, func(event watch.Event) (bool, error) {
		return event.Type != watch.Deleted && done(event.Object), nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w", what, err)
	}
	return nil
}
