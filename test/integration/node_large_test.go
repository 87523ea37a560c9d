package integration

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
)

// measureReadyToBound makes all drivers ready, and returns for each pod that waits how long after its node's driver it was bound,
// as one watch sees both.
func (s *nodeStory) measureReadyToBound(waiting int) []time.Duration {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, 2*cluster.Patience)
	defer cancel()
	pods := s.Watch(ctx, &corev1.PodList{})
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
