package schedulerperf

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	perf "k8s.io/kubernetes/test/integration/scheduler_perf"
	"k8s.io/kubernetes/test/utils/client-go/ktesting"
)

const (
	// heldNamespace holds the pods that are held, and those that they wait for, which have the label tier=first.
	heldNamespace = "held"
	firstTier     = "tier=first"
	// churners make the changes, so that the time that one takes does not limit their number.
	churners = 8
	// lookEvery is how often it is looked whether the pods are there that are to change.
	lookEvery = 100 * time.Millisecond
)

// churn changes the readiness of pods that others wait for, at a constant rate, as long as a workload lasts.
type churn struct {
	perSecond int
	changes   atomic.Int64
	lasted    time.Duration
}

// configure reads the parameter changesPerSecond of a workload.
func (c *churn) configure(w *perf.Workload) (err error) {
	c.perSecond, err = w.GetParam("changesPerSecond")
	return err
}

// start begins as soon as there are pods to change.
func (c *churn) start(tCtx ktesting.TContext) error {
	if c.perSecond == 0 {
		return nil
	}
	ctx, stop := context.WithCancel(tCtx)
	var running sync.WaitGroup
	running.Go(func() {
		pods := c.awaitPods(ctx, tCtx)
		if len(pods) == 0 {
			return
		}
		began := time.Now()
		var changing sync.WaitGroup
		for i := range churners {
			changing.Go(func() { c.change(ctx, tCtx, pods, i) })
		}
		changing.Wait()
		c.lasted = time.Since(began)
	})
	tCtx.TB().Cleanup(func() {
		stop()
		running.Wait()
		tCtx.TB().Logf("made %.0f changes a second", c.rate())
	})
	return nil
}

// rate returns how many changes were made a second.
func (c *churn) rate() float64 {
	if c.lasted == 0 {
		return 0
	}
	return float64(c.changes.Load()) / c.lasted.Seconds()
}

// awaitPods returns the names of the pods that are to change, once all of them are bound.
func (c *churn) awaitPods(ctx context.Context, tCtx ktesting.TContext) []string {
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-looks.C:
		}
		held, err := tCtx.Client().CoreV1().Pods(heldNamespace).List(ctx, metav1.ListOptions{Limit: 1, LabelSelector: "tier=second"})
		if err != nil || len(held.Items) == 0 {
			continue // the pods of the first tier are created before these
		}
		first, err := tCtx.Client().CoreV1().Pods(heldNamespace).List(ctx, metav1.ListOptions{LabelSelector: firstTier})
		if err != nil {
			continue
		}
		var names []string
		for i := range first.Items {
			names = append(names, first.Items[i].Name)
		}
		return names
	}
}

// change makes one churner's part of the changes, until the workload ends.
func (c *churn) change(ctx context.Context, tCtx ktesting.TContext, pods []string, churner int) {
	ticks := time.NewTicker(churners * time.Second / time.Duration(c.perSecond))
	defer ticks.Stop()
	for i := churner; ; i += churners {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		ready := corev1.ConditionTrue
		if i/len(pods)%2 == 1 {
			ready = corev1.ConditionFalse
		}
		patch := fmt.Sprintf(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q,"lastTransitionTime":%q}]}}`,
			ready, time.Now().UTC().Format(time.RFC3339))
		_, err := tCtx.Client().CoreV1().Pods(heldNamespace).Patch(ctx, pods[i%len(pods)], types.StrategicMergePatchType, []byte(patch),
			metav1.PatchOptions{}, "status")
		if err == nil {
			c.changes.Add(1)
		}
	}
}
