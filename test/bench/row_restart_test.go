package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const restartTime = "s"

func restartRow() row {
	const ours, gates = "our plugin", "native gates, stock scheduler"
	return row{
		number: 9, name: "restart", turns: 4 * fewTurns, // a turn takes seconds, and differs much from the next
		question: "How long does a scheduler take that starts with 10,000 held pods, from its start to the first right release?",
		variants: []variant{
			{ours, func(b *testing.B) func(int) measurement { return restarts(b, true) }},
			{gates, func(b *testing.B) func(int) measurement { return restarts(b, false) }},
		},
		claims: []claim{{text: "our plugin / native gates", of: ours, to: gates, figure: restartTime, atMost: new(1.1)}},
		notes: []string{"What the first pod waits for comes true while the scheduler is down: the group before it is ready, or its gate is " +
			"lifted. The 10,000 stay held."},
	}
}

// restarts brings up a cluster with many pods that are held, and returns what measures one restart of its scheduler.
func restarts(b *testing.B, ours bool) func(int) measurement {
	count := inFull(10_000, 50)
	program, scheduler := controlplane.Scheduler, controlplane.AnotherScheduler
	if ours {
		program, scheduler = ourScheduler, ourScheduler
	}
	s := newSite(b, releaseNodes, controlplane.Options{}, program)
	b.Cleanup(s.close)
	held := func(name string) *st.PodWrapper {
		if ours {
			return pod(name, scheduler)
		}
		return pod(name, scheduler).SchedulingGates([]string{nativeGate})
	}
	if ours {
		s.create(&v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}, Spec: v1alpha1.PodSequenceSpec{
			PodGroups: []v1alpha1.PodGroup{
				{Name: "first", Pods: []string{"first"}}, {Name: "next", Pods: []string{"next"}}, {Name: "many", PodSelector: tier(tierMany)},
			},
		}})
	}
	s.create(pod("first", scheduler).Obj())
	s.awaitBound("first")
	s.createMany(count, func(i int) *st.PodWrapper { return held(numbered("many", i)).Label(tierLabel, tierMany) })
	s.setReady("first")
	return func(int) measurement {
		require.NoError(b, s.Kill(s.ctx, program))
		err := s.core.CoreV1().Pods(namespace).Delete(s.ctx, "next", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		require.True(b, err == nil || apierrors.IsNotFound(err), "delete the pod of the turn before: %v", err)
		next := held("next").Obj()
		s.create(next)
		if !ours {
			require.NoError(b, liftGates(s.ctx, s.core, "next"))
		}
		seen := s.watchBindings()
		began, started := time.Now(), make(chan error, 1)
		go func() { started <- s.StartComponent(s.ctx, program) }()
		bound := s.awaitAll(seen, []string{string(next.UID)})
		require.NoError(b, <-started)
		require.Len(b, s.unbound(), count, "a restart has released pods that are held")
		return measurement{figures: map[string]float64{restartTime: milliseconds(began, bound[0]) / 1000}}
	}
}

// unbound lists the pods of tier many that are not bound.
func (s *site) unbound() []string {
	s.b.Helper()
	pods, err := s.core.CoreV1().Pods(namespace).List(s.ctx, metav1.ListOptions{LabelSelector: tierLabel + "=" + tierMany})
	require.NoError(s.b, err)
	var all []string
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName == "" {
			all = append(all, pods.Items[i].Name)
		}
	}
	return all
}
