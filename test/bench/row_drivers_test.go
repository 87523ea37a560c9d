package bench

import (
	"fmt"
	"strings"
	"sync/atomic"
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

// driverWay is a way to have pods wait for the driver of their node.
type driverWay struct {
	programs  []string
	scheduler string
	// readiness is the first order of node readiness by taints; empty for another way.
	readiness string
	// waits gives each pod an init container that waits for the driver of its node.
	waits bool
}

func driversRow() row {
	const ours, checked, ideal = ourWay, "node readiness by taints, checked every 5 s", "node readiness by taints, reported at once"
	const waits = "init containers: kubectl wait"
	drivers := func(way driverWay) func(b *testing.B) func(int) measurement {
		return measureAnew(func(b *testing.B, _ int) measurement { return measureDrivers(b, way) })
	}
	stock := driverWay{programs: []string{controlplane.Scheduler}, scheduler: controlplane.AnotherScheduler}
	byChecks, byReports, byWaits := stock, stock, stock
	byChecks.readiness, byReports.readiness, byWaits.waits = checkEvery.String(), reportAtOnce, true
	r := row{
		number: 13, name: "drivers", turns: rivalTurns,
		question: "What does it take to start a pod on each of 1,000 nodes after the driver there, by what people use? Drivers turn " +
			"ready at 100 a second",
		variants: []variant{
			{ours, drivers(driverWay{programs: []string{ourScheduler, ourProgram}, scheduler: ourScheduler})},
			{checked, drivers(byChecks)}, {ideal, drivers(byReports)}, {waits, drivers(byWaits)},
		},
		axes: axes{X: "percent of the pods", Y: "milliseconds at most after the driver", LogY: true},
		notes: []string{
			"Node readiness by taints is a small program written after the documentation of the Node Readiness Controller of " +
				"kubernetes-sigs, in mode bootstrap-only: a node joins with the taint; a reporter beside the driver looks every 5 s, as in the " +
				"project's example (its default is 30 s), reads the node, and writes the node's condition when it has changed; the controller " +
				"takes the taint off and then annotates the node. To its advantage its limit of requests, its events, and the status of its " +
				"rule, with an entry for each node, are left out. Reported at once is better than any reporter: the condition is written in " +
				"the moment in which the driver is ready.",
			"The pods name their node by metadata.name, as those of DaemonSets do. Figures count from the creation of the pods on, with the " +
				"first report of each node; the time counts from the first driver that is ready, and so do the checks of reporters. Drivers take " +
				"10 s to turn ready in all.",
			"kube-scheduler tries all waiting pods again whenever a taint is taken off any node (the queueing hint of TaintToleration does not " +
				"ask which node a pod names), and backs off for up to 10 s when it finds none: how long they wait depends on whether it keeps " +
				"up. Where the controller wrote nothing but the taint, they waited 0.2 and 0.5 s in the median of two turns (row 6).",
			"What row 12 says of init containers and of what is counted is true here as well. They wait for a pod, which they find by its label " +
				"and its node. Their pods are bound before the driver is ready, so that after it only the kubelet acts: their wait has no aim.",
			quietNote,
		},
	}
	for _, rival := range []string{checked, ideal, waits} {
		wait := claim{text: "median wait after the driver, PodSequence / " + rival, of: ours, to: rival, figure: medianTime, atMost: new(1.0)}
		if rival == waits {
			wait.atMost = nil
		}
		r.claims = append(r.claims, wait, claim{
			text: "API requests, PodSequence / " + rival, of: ours, to: rival, figure: apiRequests, atMost: new(1.0),
		})
	}
	for _, of := range []string{ours, checked, ideal, waits} {
		c := claim{text: "writes of nodes, " + of, of: of, figure: nodeWrites}
		if of == ours {
			c.atMost = new(0.0)
		}
		r.claims = append(r.claims, c)
	}
	return r
}

// measureDrivers measures one way to start a pod on each node after the driver there.
func measureDrivers(b *testing.B, way driverWay) measurement {
	b.Helper()
	nodes := inFull(1000, 20)
	programs := append([]string{controlplane.Etcd}, way.programs...)
	s := newSite(b, nodes, controlplane.Options{AuditLog: true}, way.programs...)
	defer s.close()
	nodeNames, drivers, waiting := names("node", nodes), names("driver", nodes), names("many", nodes)
	if way.readiness != "" {
		// A kubelet registers its node with the taint, which is no request of its own.
		s.atOnce(nodes, func(i int) error {
			patch := fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"value":"pending","effect":"NoSchedule"}]}}`, readinessTaint)
			_, err := s.core.CoreV1().Nodes().Patch(s.ctx, nodeNames[i], types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		})
	}
	var a *agent
	var k *kubelets
	var found atomic.Int64
	hear := func(line string) {
		if strings.HasPrefix(line, "waiting ") || line == "ready" {
			found.Add(1)
		}
		k.hear(line)
	}
	if way.waits {
		a = s.runAgent(waitingAgent, s.waitingKubeconfig(), hear)
	}
	k = s.playKubelets(
		func(pod *corev1.Pod) bool { return pod.Labels[tierLabel] == tierMany },
		func(pod *corev1.Pod) (waits bool, err error) {
			if !way.waits {
				return false, nil
			}
			return true, a.tell(pod.Name, "Ready", "pod", tierLabel+"="+tierFirst, "spec.nodeName="+pod.Spec.NodeName)
		})
	m := s.startMeter(programs)
	switch {
	case way.readiness != "":
		a = s.runAgent(readinessAgent, s.Kubeconfig(), hear)
		require.NoError(b, a.tell(way.readiness))
		s.await("the controller and its reporters", func() bool { return found.Load() == 1 })
	case !way.waits:
		s.create(&v1alpha1.PodSequence{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "storage"},
			Spec: v1alpha1.PodSequenceSpec{Scope: v1alpha1.ScopeNode, PodGroups: []v1alpha1.PodGroup{
				{Name: "driver", PodSelector: tier(tierFirst)}, {Name: "application", PodSelector: tier(tierMany)},
			}},
		})
	}
	s.createMany(nodes, func(i int) *st.PodWrapper {
		return pod(drivers[i], way.scheduler).Label(tierLabel, tierFirst).Node(nodeNames[i])
	})
	s.createMany(nodes, func(i int) *st.PodWrapper {
		p := pod(waiting[i], way.scheduler).Label(tierLabel, tierMany).
			NodeAffinityIn(metav1.ObjectNameField, []string{nodeNames[i]}, st.NodeSelectorTypeMatchFields)
		if way.waits {
			p.Spec.InitContainers = []corev1.Container{
				initContainer("--for=condition=Ready", "pod", "--selector=tier=first", "--field-selector=spec.nodeName=$(NODE)"),
			}
		}
		return p
	})
	switch {
	case way.readiness != "":
		s.awaitRefused(nodes)
	case way.waits:
		s.await("all init containers to wait", func() bool { return found.Load() == int64(nodes) })
	default:
		s.await("all pods to be held", func() bool { return s.Metric(b, ourScheduler, "podsequence_held_pods ") == float64(nodes) })
	}
	if way.readiness != "" {
		require.NoError(b, a.tell(beginChecks))
	}
	began := time.Now()
	driversReady := s.turnReadyAnd(drivers, driversPerSecond, func(i int) error {
		if way.readiness == "" {
			return nil
		}
		return a.tell(nodeNames[i])
	})
	ready := k.awaitReady(nodes)
	var others time.Duration
	if a != nil {
		others = a.end()
	}
	measured := m.stop(others)
	measured.figures[untilReady], _ = startedBy(began, ready)
	took := make([]float64, nodes)
	for i := range took {
		took[i] = milliseconds(driversReady[i], ready[waiting[i]].done)
	}
	measured.figures[medianTime], measured.figures[worstTime] = percentile(took, 50), percentile(took, 99)
	for percent := 1; percent <= 100; percent++ {
		measured.curve = append(measured.curve, point{X: float64(percent), Y: max(1, percentile(took, percent))})
	}
	if way.waits {
		s.measureKubectl(measured, nodes)
	}
	return measured
}
