package bench

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	medianTime = "p50 ms"
	worstTime  = "p99 ms"
	// driversPerSecond turn ready.
	driversPerSecond = 100
)

func nodeRow() row {
	r := row{
		number: 6, name: "nodes", turns: fewTurns,
		question: "How long does a pod wait after the driver on its node is ready? Drivers turn ready at 100 a second, one on each node",
		axes:     axes{X: "percent of the pods", Y: "milliseconds at most", LogY: true},
		notes: []string{"The controller that takes the taint off a node reacts to a watch, makes 16 requests at a time and has no limit " +
			"of requests. Row 7 has the requests of both.",
			"The waiting pods name their node by the label of its host, for which the stock scheduler filters all nodes at each try. If they " +
				"name it by metadata.name, as pods of DaemonSets do, taints are faster, and our plugin is not: in two turns with 1,000 nodes " +
				"taints took 246 and 542 ms in the median and 2,964 and 7,097 ms at the 99th percentile, our plugin 64 and 66, 129 and 119 ms."},
	}
	sizes := []int{1000, 5000}
	if testing.Short() {
		sizes = []int{20}
	}
	for _, nodes := range sizes {
		ours, taint := fmt.Sprintf("our plugin, %d nodes", nodes), fmt.Sprintf("a taint of each node, %d nodes", nodes)
		r.variants = append(r.variants,
			variant{ours, measureAnew(func(b *testing.B, _ int) measurement { return measureNodes(b, nodes, false) })},
			variant{taint, measureAnew(func(b *testing.B, _ int) measurement { return measureNodes(b, nodes, true) })})
		r.claims = append(r.claims,
			claim{text: fmt.Sprintf("median, our plugin / a taint of each node, %d nodes", nodes), of: ours, to: taint, figure: medianTime, atMost: new(0.5)},
			claim{text: fmt.Sprintf("99th percentile, the same, %d nodes", nodes), of: ours, to: taint, figure: worstTime, atMost: new(0.5)})
	}
	return r
}

func measureNodes(b *testing.B, nodes int, taints bool) measurement {
	b.Helper()
	s := newSite(b, nodes, controlplane.Options{}, programsOnNodes(taints)...)
	defer s.close()
	return s.startOnNodes(nodes, taints)
}

func programsOnNodes(taints bool) []string {
	if taints {
		return []string{controlplane.Scheduler}
	}
	return []string{ourScheduler, ourProgram}
}

// startOnNodes makes a driver on each node ready, and measures until the pod that waits for it there is bound: by
// podsequence-scheduler, or by the stock scheduler once a controller has taken the taint off the node.
func (s *site) startOnNodes(nodes int, taints bool) measurement {
	s.b.Helper()
	scheduler := s.prepareNodes(nodes, taints)
	nodeNames, drivers, waiting := names("node", nodes), names("driver", nodes), names("many", nodes)
	s.createMany(nodes, func(i int) *st.PodWrapper {
		return pod(drivers[i], scheduler).Label(tierLabel, tierFirst).Node(nodeNames[i])
	})
	s.createMany(nodes, func(i int) *st.PodWrapper {
		return pod(waiting[i], scheduler).Label(tierLabel, tierMany).NodeSelector(map[string]string{corev1.LabelHostname: nodeNames[i]})
	})
	if taints {
		s.awaitRefused(nodes)
	} else {
		s.await("all pods to be held", func() bool { return s.Metric(s.b, ourScheduler, "podsequence_held_pods ") == float64(nodes) })
	}
	seen := s.watchBindings()
	ready := s.turnReady(drivers)
	bound := s.awaitAll(seen, waiting)
	took := make([]float64, nodes)
	for i := range took {
		took[i] = milliseconds(ready[i], bound[i])
	}
	m := measurement{figures: map[string]float64{medianTime: percentile(took, 50), worstTime: percentile(took, 99)}}
	for percent := 1; percent <= 100; percent++ {
		m.curve = append(m.curve, point{X: float64(percent), Y: max(1, percentile(took, percent))})
	}
	return m
}

// prepareNodes makes pods wait for the driver of their node: by a sequence, or by a taint that a controller takes off. It returns the name of
// their scheduler.
func (s *site) prepareNodes(nodes int, taints bool) string {
	s.b.Helper()
	scheduler := ourScheduler
	if taints {
		scheduler = controlplane.AnotherScheduler
		s.atOnce(nodes, func(i int) error {
			patch := fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"effect":"NoSchedule"}]}}`, driverTaint)
			_, err := s.core.CoreV1().Nodes().Patch(s.ctx, numbered("node", i), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		})
		s.runTaintController()
	} else {
		s.create(&v1alpha1.PodSequence{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "storage"},
			Spec: v1alpha1.PodSequenceSpec{Scope: v1alpha1.ScopeNode, PodGroups: []v1alpha1.PodGroup{
				{Name: "driver", PodSelector: tier(tierFirst)}, {Name: "application", PodSelector: tier(tierMany)},
			}},
		})
	}
	return scheduler
}

// awaitRefused waits until the scheduler has found no node for so many pods.
func (s *site) awaitRefused(count int) {
	s.b.Helper()
	s.await("all pods to be unschedulable", func() bool {
		pods, err := s.core.CoreV1().Pods(namespace).List(s.ctx, metav1.ListOptions{LabelSelector: tierLabel + "=" + tierMany})
		require.NoError(s.b, err)
		refused := 0
		for i := range pods.Items {
			for _, c := range pods.Items[i].Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
					refused++
				}
			}
		}
		return refused == count
	})
}

// turnReady makes pods ready at a constant rate, and returns when that was written for each.
func (s *site) turnReady(pods []string) []time.Time {
	s.b.Helper()
	return s.turnReadyAnd(pods, driversPerSecond, func(int) error { return nil })
}

// turnReadyAnd is turnReady with something that happens right after each pod.
func (s *site) turnReadyAnd(pods []string, perSecond int, and func(i int) error) []time.Time {
	s.b.Helper()
	written, errs := make([]time.Time, len(pods)), make([]error, len(pods))
	ticks := time.NewTicker(time.Second / time.Duration(perSecond))
	defer ticks.Stop()
	var writing sync.WaitGroup
	for i, name := range pods {
		writing.Go(func() {
			if written[i], errs[i] = s.writeReady(name); errs[i] == nil {
				errs[i] = and(i)
			}
		})
		<-ticks.C
	}
	writing.Wait()
	for _, err := range errs {
		require.NoError(s.b, err)
	}
	return written
}
