package podgroup

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"example.com/podsequence/test/harness/cluster"
)

// What a group costs is one write a pod, and a time that hardly grows with the group. It is measured from seeing the last
// pod run to seeing the last label, both by the same watch.
func TestALargeGroup(t *testing.T) { // before the parallel ones, which it would slow down
	for _, pods := range []int32{8, 250} {
		t.Run(fmt.Sprintf("%d pods", pods), func(t *testing.T) {
			s := newStory(t)
			s.expect("gang", int(pods))
			events := s.Watch(s.Ctx, &corev1.PodList{})
			defer events.Stop()
			s.Create(s.job("work", pods, nil))
			ran, first, finished := s.times(events, int(pods))
			t.Logf("%d pods: %v from the last pod that runs to the last label, of which %v to the first", pods,
				finished.Sub(ran).Round(time.Millisecond), first.Sub(ran).Round(time.Millisecond))
			assert.Less(t, finished.Sub(ran), 2*cluster.Patience) // a few seconds on a machine that has nothing else to do

			writes := 0
			for _, r := range s.controllerRequests() {
				if r.namespace == s.Namespace && r.verb == "patch" {
					writes++
				}
			}
			assert.Less(t, writes, 2*int(pods), "one write a pod, but for those that a busy API server has tried again")
		})
	}
}

// times are when the last of so many pods came to run, and when the first and the last was labelled.
func (s *story) times(events watch.Interface, pods int) (ran, first, finished time.Time) {
	s.Helper()
	run, label := map[string]bool{}, map[string]bool{}
	for event := range events.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			continue
		}
		if pod.Status.Phase == corev1.PodRunning && !run[pod.Name] {
			run[pod.Name], ran = true, time.Now()
		}
		if labelled(pod) && !label[pod.Name] {
			label[pod.Name], finished = true, time.Now()
			if len(label) == 1 {
				first = finished
			}
		}
		if len(label) == pods {
			return ran, first, finished
		}
	}
	s.Fatalf("the watch ended with %d of %d pods labelled", len(label), pods)
	return
}
