package autoscaler

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/test/harness/cluster"
)

// What both ways cost: nodes, and time from the first pod to the last one that is bound. Not in parallel, because others would cost time.
func TestBothWaysMakeTheSameNodes(t *testing.T) {
	stories := []struct {
		name        string
		nodes       pool
		driverTakes string
		tell        func(*story)
		made        int
	}{
		{"from zero nodes", pool{instanceType: small, bootTime: "2s"}, "5s", func(s *story) {
			s.Create(s.deployment("web", 4))
			s.awaitBound("web-", 4)
		}, 2},
		{"one pod too many", pool{instanceType: small, bootTime: "2s"}, "20s", func(s *story) {
			s.Create(s.deployment("web", 2))
			s.awaitDrivers(1)
			s.Create(s.deployment("web-more", 1))
			s.awaitBound("web-", 3)
		}, 2},
		{"a slow driver and consolidation", pool{instanceType: small, bootTime: "2s", consolidateAfter: "1s"}, "60s", func(s *story) {
			s.Create(s.deployment("web", 1))
			s.awaitBound("web-", 1)
		}, 1},
	}
	for _, test := range stories {
		for _, by := range []way{byPodSequence, byStartupTaint} {
			t.Run(test.name+" by "+string(by), func(t *testing.T) {
				s := newStory(t, by, test.nodes)
				s.startDriversAfter(test.driverTakes)
				s.began = time.Now()
				test.tell(s)
				s.report()
				s.expectNodes(test.made)
			})
		}
	}
}

// startDriversAfter makes each driver ready some time after its start, and removes the startup taint of its node then.
func (s *story) startDriversAfter(duration string) {
	s.Helper()
	s.Patch(&appsv1.DaemonSet{ObjectMeta: s.Meta("driver")}, map[string]any{"spec": map[string]any{
		"template": map[string]any{"metadata": map[string]any{"annotations": map[string]string{cluster.ReadyAfter: duration}}},
	}})
	ctx, stop := context.WithCancel(s.Ctx)
	pods := &corev1.PodList{}
	changes := s.Watch(ctx, pods)
	ended := make(chan struct{})
	s.Cleanup(func() { stop(); <-ended })
	require.Empty(s, pods.Items, "the watch has all pods")
	go func() {
		defer close(ended)
		for change := range changes.ResultChan() {
			pod, is := change.Object.(*corev1.Pod)
			if !is || pod.Labels[tier] != "driver" || !cluster.IsReady(pod) {
				continue
			}
			s.removeTaint(pod.Spec.NodeName)
		}
	}()
}
