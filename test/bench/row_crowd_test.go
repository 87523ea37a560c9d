package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	longestTime   = "longest ms"
	schedulerTime = "processor of the scheduler s"
)

func crowdRow() row {
	const taint = "a taint of each node"
	pods, nodes, places := inFull(10000, 200), inFull(500, 20), inFull(4, 3)
	crowd := func(taints bool) func(b *testing.B) func(int) measurement {
		return measureAnew(func(b *testing.B, _ int) measurement { return measureCrowd(b, pods, nodes, places, taints) })
	}
	return row{
		number: 14, name: "crowd", turns: fewTurns,
		question: fmt.Sprintf("%d pods may go to any node. %d nodes open at %d a second, and each has room for %d of them. How long does a place stay "+
			"empty?", pods, nodes, nodesPerSecond, places),
		variants: []variant{{ourWay, crowd(false)}, {taint, crowd(true)}},
		axes:     axes{X: "percent of the places", Y: "milliseconds at most after their node opened", LogY: true},
		claims: []claim{
			{text: "longest time that a place was empty, our plugin", of: ourWay, figure: longestTime, atMost: new(6000.0)},
			{text: "longest time that a place was empty, our plugin / a taint of each node", of: ourWay, to: taint, figure: longestTime},
			{text: "processor time of the scheduler, our plugin / a taint of each node", of: ourWay, to: taint, figure: schedulerTime, atMost: new(1.0)},
		},
		notes: []string{
			"The processor time of the scheduler counts from the first driver that is ready until ten seconds after the last place is taken: most pods " +
				"find none.", quietNote,
		},
	}
}

// nodesPerSecond open for the crowd.
const nodesPerSecond = 50

// measureCrowd makes one driver after another ready, and measures how long it takes until the places of its node are taken.
func measureCrowd(b *testing.B, pods, nodes, places int, taints bool) measurement {
	b.Helper()
	s := newSite(b, nodes, controlplane.Options{NodeCapacity: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods: *resource.NewQuantity(int64(places+1), resource.DecimalSI), // and the driver
	}}, programsOnNodes(taints)...)
	defer s.close()
	scheduler := s.prepareNodes(nodes, taints)
	nodeNames, drivers, crowd := names("node", nodes), names("driver", nodes), names("many", pods)
	s.createMany(nodes, func(i int) *st.PodWrapper {
		return pod(drivers[i], scheduler).Label(tierLabel, tierFirst).Node(nodeNames[i])
	})
	s.createMany(len(crowd), func(i int) *st.PodWrapper { return pod(crowd[i], scheduler).Label(tierLabel, tierMany) })
	s.awaitRefused(len(crowd))
	program := ourScheduler
	if taints {
		program = controlplane.Scheduler
	}
	seen := s.watchBindings()
	before := s.processorTimes([]string{program})[program]
	ready := s.turnReadyAnd(drivers, nodesPerSecond, func(int) error { return nil })
	s.await("all places to be taken", func() bool { return seen.count("many") == nodes*places })
	time.Sleep(10 * time.Second) // what the scheduler does for pods that find no place is part of the cost
	used := s.processorTimes([]string{program})[program] - before
	opened := map[string]time.Time{}
	for i, node := range nodeNames {
		opened[node] = ready[i]
	}
	var took []float64
	for name, node := range s.placedOn() {
		if bound, ok := seen.of(name); ok && strings.HasPrefix(name, "many") {
			took = append(took, milliseconds(opened[node], bound))
		}
	}
	m := measurement{figures: map[string]float64{
		medianTime: percentile(took, 50), worstTime: percentile(took, 99), longestTime: percentile(took, 100), schedulerTime: used.Seconds(),
	}}
	for percent := 1; percent <= 100; percent++ {
		m.curve = append(m.curve, point{X: float64(percent), Y: max(1, percentile(took, percent))})
	}
	return m
}

// placedOn returns the nodes of pods by their names.
func (s *site) placedOn() map[string]string {
	s.b.Helper()
	pods, err := s.core.CoreV1().Pods(namespace).List(s.ctx, metav1.ListOptions{})
	require.NoError(s.b, err)
	nodes := map[string]string{}
	for i := range pods.Items {
		nodes[pods.Items[i].Name] = pods.Items[i].Spec.NodeName
	}
	return nodes
}
