package integration

import (
	"fmt"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// startMany starts a sequence of two tiers with half of the pods each, and one pod to follow. It returns when the first
// pods are bound.
func (s *story) startMany(pods int) {
	s.Helper()
	s.Create(s.sequence("shop").Label("One", "tier", "one").Label("Two", "tier", "two").Pods("Three", "last").Obj())
	s.createPods(s.pod("last").Annotation(cluster.ReadyAfter, "0s"))
	s.createMany("two", pods/2)
	s.createMany("one", pods/2)
	s.Await("the first tier to begin", func() bool { return s.countBound("one") > 0 })
}

// awaitManyCompleted waits until the sequence is completed, and with it all pods are bound and ready.
func (s *story) awaitManyCompleted() {
	s.Helper()
	cluster.Eventually(s, "the sequence to be completed", func() error {
		if err := s.wakeKubelets(); err != nil {
			return err
		}
		ps := &v1alpha1.PodSequence{}
		if err := s.API.Get(s.Ctx, types.NamespacedName{Namespace: s.Namespace, Name: "shop"}, ps); err != nil {
			return err
		}
		if ps.Status.Phase != v1alpha1.PhaseCompleted {
			return fmt.Errorf("phase is %s: %s", ps.Status.Phase, ps.Status.Message)
		}
		return nil
	})
	var pods corev1.PodList
	require.NoError(s, s.API.List(s.Ctx, &pods, client.InNamespace(s.Namespace), client.HasLabels{"tier"}))
	for i := range pods.Items {
		assert.True(s, cluster.IsReady(&pods.Items[i]), "%s is not ready", pods.Items[i].Name)
	}
}

// createMany creates pods labelled tier=TIER that turn ready half a second after their start: every other one gated, every
// third of the gated ones of the stock scheduler.
func (s *story) createMany(tier string, count int) {
	s.Helper()
	var creating sync.WaitGroup
	errs := make([]error, count)
	begin := make(chan struct{}, 16)
	for i := range count {
		creating.Go(func() {
			begin <- struct{}{}
			defer func() { <-begin }()
			pod := s.pod(fmt.Sprintf("%s-%d", tier, i))
			if i%2 == 0 {
				pod = s.gated(fmt.Sprintf("%s-%d", tier, i))
				if i%6 == 0 {
					pod = pod.SchedulerName(stockScheduler)
				}
			}
			errs[i] = s.API.Create(s.Ctx, pod.Label("tier", tier).Annotation(cluster.ReadyAfter, "500ms").Obj())
		})
	}
	creating.Wait()
	for _, err := range errs {
		require.NoError(s, err)
	}
}

// countBound is the number of bound pods labelled tier=TIER; 0 if the API server does not answer.
func (s *story) countBound(tier string) int {
	var pods corev1.PodList
	if err := s.API.List(s.Ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{"tier": tier}); err != nil {
		return 0
	}
	bound := 0
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName != "" {
			bound++
		}
	}
	return bound
}
