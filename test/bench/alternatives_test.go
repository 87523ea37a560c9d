package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// What people use instead of us, small and without any handicap: no limit of requests, many requests at a time, and in the process
// that measures, so that no other takes part of the processors.

const (
	pollingAgent = "polling-controller"
	taintAgent   = "taint-controller"
	// pollEvery is how often the polling controller looks.
	pollEvery = 5 * time.Second
	// driverTaint is on nodes whose driver is not ready.
	driverTaint = "example.com/driver-not-ready"
)

// poller is a controller that looks every 5 seconds whether all pods that one selector selects are ready, and then lifts the gates of
// those that another one selects.
type poller struct {
	core        kubernetes.Interface
	first, many string
}

// run looks for the first time after a while, and ends when it has lifted the gates.
func (p *poller) run(ctx context.Context, firstLook time.Duration) error {
	look := time.NewTimer(firstLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
			look.Reset(pollEvery)
		}
		lifted, err := p.look(ctx)
		if lifted || err != nil {
			return err
		}
	}
}

func (p *poller) look(ctx context.Context) (lifted bool, err error) {
	first, err := p.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: p.first})
	if err != nil {
		return false, fmt.Errorf("list pods of the first tier: %w", err)
	}
	if slices.ContainsFunc(first.Items, func(pod corev1.Pod) bool { return !isReady(&pod) }) {
		return false, nil
	}
	many, err := p.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: p.many})
	if err != nil {
		return false, fmt.Errorf("list pods of the next tier: %w", err)
	}
	var lifting errgroup.Group
	lifting.SetLimit(manyAtATime)
	for _, pod := range many.Items {
		if len(pod.Spec.SchedulingGates) > 0 {
			lifting.Go(func() error { return liftGates(ctx, p.core, pod.Name) })
		}
	}
	return true, lifting.Wait()
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func liftGates(ctx context.Context, core kubernetes.Interface, pod string) error {
	patch := []byte(`{"spec":{"schedulingGates":null}}`)
	if _, err := core.CoreV1().Pods(namespace).Patch(ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("lift gates of %s: %w", pod, err)
	}
	return nil
}

// phase spreads the moments of readiness evenly over the time between two looks.
func phase(turn, turns int) time.Duration {
	return pollEvery * time.Duration(2*(turn%turns)+1) / time.Duration(2*turns)
}

// runTaintController runs a controller that takes the taint off a node as soon as it sees that the driver on it is ready.
func (s *site) runTaintController() {
	s.b.Helper()
	core := s.clientOf(taintAgent)
	ctx, stop := context.WithCancel(s.ctx)
	queue := make(chan string, manyAtATime)
	var lock sync.Mutex
	untainted := map[string]bool{}
	see := func(object any) {
		pod := object.(*corev1.Pod)
		lock.Lock()
		due := isReady(pod) && !untainted[pod.Spec.NodeName]
		if due {
			untainted[pod.Spec.NodeName] = true
		}
		lock.Unlock()
		if !due {
			return
		}
		select {
		case queue <- pod.Spec.NodeName:
		case <-ctx.Done():
		}
	}
	var working errgroup.Group
	for range manyAtATime {
		working.Go(func() error {
			for {
				select {
				case <-ctx.Done():
					return nil
				case node := <-queue:
					patch := []byte(`{"spec":{"taints":null}}`)
					_, err := core.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
					if err != nil && ctx.Err() == nil {
						return fmt.Errorf("take the taint off %s: %w", node, err)
					}
				}
			}
		})
	}
	s.AtStop(func() error { stop(); return working.Wait() })
	factory := informers.NewSharedInformerFactoryWithOptions(core, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = tierLabel + "=" + tierFirst }))
	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, object any) { see(object) }})
	require.NoError(s.b, err)
	factory.StartWithContext(ctx)
	require.True(s.b, cache.WaitForCacheSync(ctx.Done(), pods.HasSynced))
}

// waves is a script that applies one manifest, waits until all of it is ready, and applies the next.
func waves(first, second string) string {
	return fmt.Sprintf(`set -e
kubectl apply -f - <<'EOF'
%[1]s
EOF
kubectl wait --for=condition=Ready --timeout=300s -f - <<'EOF'
%[1]s
EOF
kubectl apply -f - <<'EOF'
%[2]s
EOF`, first, second)
}
