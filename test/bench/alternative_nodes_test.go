package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Readiness of nodes by taints, written after the documentation of the Node Readiness Controller of kubernetes-sigs: a node joins with a
// taint; a reporter beside the driver checks it at an interval, reads the node, and writes a condition if that has changed; the
// controller watches nodes, and once the condition of its rule is true it takes the taint off and notes in an annotation that the node
// is done (mode bootstrap-only). What it writes into the status of its rule, one entry for each node in one object, is left out, and so
// are its events and its limit of requests.

const (
	readinessAgent = "node-readiness"
	readinessTaint = "readiness.k8s.io/driver-ready"
	readinessDone  = "readiness.k8s.io/bootstrap-completed-driver"
	driverReady    = "example.com/DriverReady"
	// checkEvery is the interval of the reporter in the project's example; its default is 30 s.
	checkEvery = 5 * time.Second
	// reportAtOnce is the order that makes reporters write as soon as the driver is ready, which no reporter does.
	reportAtOnce = "at-once"
	// beginChecks is the order after which reporters check again and again.
	beginChecks = "begin"
)

// nodeReadiness is the controller, and the reporters of all nodes.
type nodeReadiness struct {
	core kubernetes.Interface
	// driverIsReady has a channel for each node, which is closed when the driver answers.
	driverIsReady map[string]chan struct{}
	// released are the nodes that are done, whatever the cache still says.
	released sync.Map
	failures chan error
}

// runNodeReadiness runs the controller, and a reporter on each node that the cluster has. The first order says whether reporters check at
// an interval, which they do from beginChecks on. Each further order is a node whose driver is ready now. It reports "ready" when all nodes
// have been reported not to be ready.
func runNodeReadiness(ctx context.Context, config *rest.Config, orders <-chan string, report func(string)) error {
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	r := &nodeReadiness{core: core, driverIsReady: map[string]chan struct{}{}, failures: make(chan error, 1)}
	nodes, err := r.watchNodes(ctx)
	if err != nil {
		return err
	}
	interval := checkEvery
	if <-orders == reportAtOnce {
		interval = 0
	}
	for _, node := range nodes.ListKeys() {
		r.driverIsReady[node] = make(chan struct{})
	}
	begin := make(chan struct{})
	var first errgroup.Group
	first.SetLimit(manyAtATime)
	for i, node := range slices.Sorted(maps.Keys(r.driverIsReady)) {
		if interval == 0 {
			go r.reportAtOnce(ctx, node)
			continue
		}
		first.Go(func() error { return r.check(ctx, node) })
		// Nodes do not join all at the same moment.
		go r.reportAtIntervals(ctx, begin, node, interval, interval*time.Duration(i)/time.Duration(len(r.driverIsReady)))
	}
	if err := first.Wait(); err != nil {
		return err
	}
	report("ready")
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-r.failures:
			return err
		case order := <-orders:
			if order == beginChecks {
				close(begin)
				continue
			}
			close(r.driverIsReady[order])
		}
	}
}

// fail ends the program, unless it ends anyway.
func (r *nodeReadiness) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	select {
	case r.failures <- err:
	default:
	}
}

// watchNodes runs the controller: it takes the taint off each node whose condition is true.
func (r *nodeReadiness) watchNodes(ctx context.Context) (cache.Store, error) {
	queue := workqueue.NewTyped[string]()
	factory := informers.NewSharedInformerFactory(r.core, 0)
	nodes := factory.Core().V1().Nodes().Informer()
	see := func(object any) { queue.Add(object.(*corev1.Node).Name) }
	handler := cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, object any) { see(object) }}
	if _, err := nodes.AddEventHandler(handler); err != nil {
		return nil, fmt.Errorf("watch nodes: %w", err)
	}
	for range manyAtATime {
		go func() {
			for {
				name, down := queue.Get()
				if down {
					return
				}
				if object, found, _ := nodes.GetStore().GetByKey(name); found {
					if err := r.release(ctx, object.(*corev1.Node)); err != nil {
						r.fail(ctx, err)
					}
				}
				queue.Done(name)
			}
		}()
	}
	go func() {
		<-ctx.Done()
		queue.ShutDown()
	}()
	factory.StartWithContext(ctx)
	factory.WaitForCacheSync(ctx.Done())
	return nodes.GetStore(), nil
}

// release takes the taint off a node, and then marks the node as done. That is two writes.
func (r *nodeReadiness) release(ctx context.Context, node *corev1.Node) error {
	if _, done := r.released.Load(node.Name); done || conditionOf(node) != corev1.ConditionTrue {
		return nil
	}
	patch := func(content string) error {
		if _, err := r.core.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, []byte(content), metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("patch %s: %w", node.Name, err)
		}
		return nil
	}
	if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == readinessTaint }) {
		if err := patch(`{"spec":{"taints":null}}`); err != nil {
			return err
		}
	}
	r.released.Store(node.Name, true)
	return patch(fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, readinessDone))
}

func conditionOf(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == driverReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}

// reportAtIntervals checks the driver of a node at each interval, for the first time after a part of it.
func (r *nodeReadiness) reportAtIntervals(ctx context.Context, begin <-chan struct{}, node string, interval, phase time.Duration) {
	select {
	case <-ctx.Done():
	case <-begin:
	}
	checks := time.NewTimer(phase)
	defer checks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-checks.C:
			checks.Reset(interval)
		}
		if err := r.check(ctx, node); err != nil {
			r.fail(ctx, err)
		}
	}
}

// check reads the node, as the reporter does at each interval, and writes the condition if it has changed.
func (r *nodeReadiness) check(ctx context.Context, name string) error {
	status := corev1.ConditionFalse
	select {
	case <-r.driverIsReady[name]:
		status = corev1.ConditionTrue
	default:
	}
	node, err := r.core.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if conditionOf(node) == status {
		return nil
	}
	return r.write(ctx, name, status)
}

// reportAtOnce writes the condition when the driver turns ready.
func (r *nodeReadiness) reportAtOnce(ctx context.Context, node string) {
	select {
	case <-ctx.Done():
	case <-r.driverIsReady[node]:
		if err := r.write(ctx, node, corev1.ConditionTrue); err != nil {
			r.fail(ctx, err)
		}
	}
}

func (r *nodeReadiness) write(ctx context.Context, node string, status corev1.ConditionStatus) error {
	now := time.Now().UTC().Format(time.RFC3339)
	patch := strings.NewReplacer("TYPE", driverReady, "STATUS", string(status), "NOW", now).Replace(
		`{"status":{"conditions":[{"type":"TYPE","status":"STATUS","reason":"Checked","lastHeartbeatTime":"NOW","lastTransitionTime":"NOW"}]}}`)
	_, err := r.core.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("write condition of %s: %w", node, err)
	}
	return nil
}
