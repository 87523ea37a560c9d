package integration

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/controlplane"
	"example.com/podsequence/internal/testing/cluster"
)

// Each of many nodes has a driver and two pods that wait for it. The drivers turn ready one after another as fast as the
// API server takes it; measured is the time until the pods are bound.
func TestFiveHundredNodes(t *testing.T) {
	t.Parallel()
	heavy.Take(t)
	const nodes, perNode = 500, 2
	env := startCluster(t, controlplane.Options{Nodes: nodes})
	s := &nodeStory{story: newStoryIn(t, env)}
	everywhere := func(d *appsv1.DaemonSet) *appsv1.DaemonSet {
		delete(d.Spec.Template.Spec.NodeSelector, ofStory)
		return d
	}
	s.Create(s.driverThenApp().Obj(), everywhere(s.driver()))
	s.awaitCount("all drivers to be bound", nodes, func() int { return s.countBound("driver") })
	s.Create(everywhere(s.daemonSet("one", "app")), everywhere(s.daemonSet("two", "app")))
	s.awaitCount("all pods that need them to be there", nodes*perNode, func() int { return len(s.podsOf("one")) + len(s.podsOf("two")) })
	s.fence()
	require.Zero(t, s.countBound("app"))

	readyToBound := s.measureReadyToBound(nodes * perNode)
	slices.Sort(readyToBound)
	t.Logf("from a driver's being ready to the binding of a pod that waits for it, %d nodes: median %s, worst %s",
		nodes, readyToBound[len(readyToBound)/2], readyToBound[len(readyToBound)-1])
	cluster.Eventually(s, "status to be right", func() error {
		status := s.getSequence("storage").Status
		if want := (v1alpha1.NodeSummary{Total: nodes, Waiting: nodes}); status.NodeSummary == nil || *status.NodeSummary != want {
			return fmt.Errorf("status counts %+v, want %+v", status.NodeSummary, want)
		}
		return nil
	})
}

// measureReadyToBound has all drivers turn ready, and returns for each pod that waits how long after its node's driver it
// was bound, as one watch sees both.
func (s *nodeStory) measureReadyToBound(waiting int) []time.Duration {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, 2*cluster.Patience)
	defer cancel()
	pods, err := s.API.Watch(ctx, &corev1.PodList{}, client.InNamespace(s.Namespace))
	require.NoError(s, err)
	defer pods.Stop()

	var annotating sync.WaitGroup
	defer annotating.Wait()
	drivers := s.podsOf("driver")
	annotating.Go(func() {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+cluster.ReadyAfter+`":"0s"}}}`))
		for _, driver := range drivers {
			if err := s.API.Patch(ctx, driver, patch); err != nil {
				s.Errorf("annotate %s: %v", driver.Name, err)
			}
		}
	})

	ready, bound, took := map[string]time.Time{}, map[string]bool{}, []time.Duration(nil)
	for event := range pods.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		require.True(s, ok && event.Type != watch.Error, "watch of pods failed: %v", event.Object)
		node := pod.Spec.NodeName
		switch {
		case pod.Labels["tier"] == "driver" && cluster.IsReady(pod) && ready[node].IsZero():
			ready[node] = time.Now()
		case pod.Labels["tier"] == "app" && node != "" && !bound[pod.Name]:
			require.NotZero(s, ready[node], "%s is bound before the driver of %s is ready", pod.Name, node)
			bound[pod.Name] = true
			if took = append(took, time.Since(ready[node])); len(took) == waiting {
				return took
			}
		}
	}
	s.Fatalf("%d of %d pods were bound", len(took), waiting)
	return nil
}

// awaitCount waits until there are so many.
func (s *nodeStory) awaitCount(what string, want int, count func() int) {
	s.Helper()
	cluster.Eventually(s, what, func() error {
		if is := count(); is != want {
			return fmt.Errorf("%d of %d", is, want)
		}
		return nil
	})
}
