package sequence

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// growthEvent is something that happens in the cluster, and what takes it back, so that it can happen again. What takes nothing back happens
// twice.
type growthEvent struct {
	name        string
	there, back func()
}

// BenchmarkGrowthEvent measures what events cost the engine in a cluster that is large: processor time, memory and allocations of one
// event, with the answers to what the engine asks because of it.
func BenchmarkGrowthEvent(b *testing.B) {
	for _, nodes := range growthSizes() {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			g := newGrowingCluster(nodes)
			engine := g.started(b)
			for _, events := range [][]growthEvent{g.podEvents(engine), g.nodeEvents(engine), g.sequenceEvents(engine)} {
				for _, event := range events {
					b.Run(event.name, func(b *testing.B) {
						measureTwo(b, event.there, event.back)
					})
				}
			}
		})
	}
}

// BenchmarkGrowthQuestion measures what questions of the scheduler and of the controller cost there.
func BenchmarkGrowthQuestion(b *testing.B) {
	for _, nodes := range growthSizes() {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			g := newGrowingCluster(nodes)
			engine := g.started(b)
			held := g.teamPod(0, "web", 7, "")
			held.ResourceVersion = "1" // as the engine knows it
			placement := engine.Placement(held)
			require.NotNil(b, placement)
			questions := []struct {
				name string
				ask  func()
			}{
				{"PreEnqueue, a held pod", func() { engine.Verdict(held) }},
				{"PreFilter, a held pod", func() { engine.Placement(held) }},
				{"Filter, one node", func() { placement.Open(cloudNode(0)) }},
				{"why a pod waits", func() { engine.Why(held) }},
				{"all held pods", func() { engine.HeldPods() }},
				{"report of a team", func() { engine.Report(namespaced(team(0), "shop")) }},
				{"report of a ClusterPodSequence on all nodes", func() { engine.Report(namespaced("", "network")) }},
				{"status of a ClusterPodSequence on all nodes", func() {
					report, _ := engine.Report(namespaced("", "network"))
					report.Status(report.Object, growthNow)
				}},
			}
			for _, question := range questions {
				b.Run(question.name, func(b *testing.B) { measureTwo(b, question.ask, question.ask) })
			}
		})
	}
}

// measureTwo reports what each of two events costs. The garbage collector does not run meanwhile, unless they allocate very much.
func measureTwo(b *testing.B, there, back func()) {
	there()
	back()
	live := heapInUse()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(live) + 1<<30))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := processorTime(b)
	for b.Loop() {
		there()
		back()
	}
	took := processorTime(b) - begin
	runtime.ReadMemStats(&after)
	events := float64(2 * b.N)
	b.ReportMetric(0, "ns/op") // of two, and of a clock that others share
	b.ReportMetric(float64(took.Nanoseconds())/events, "cpu-ns/event")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/events, "B/event")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/events, "allocs/event")
}

// processorTime is what the process has used. A clock would also count the time of whoever shares the machine.
func processorTime(tb testing.TB) time.Duration {
	var usage syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func namespaced(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// twice is an event that nothing takes back.
func twice(name string, event func()) growthEvent { return growthEvent{name, event, event} }

// again tells the engine of another version of an object at each call, as do those that follow. What is in it is made beforehand.
func (g *growingCluster) again(a recording, object *corev1.Pod) func() {
	return func() {
		p := *object
		p.ResourceVersion = g.next()
		a.ApplyPod(&p)
	}
}

func (g *growingCluster) nodeIs(a recording, i int, change func(*corev1.Node)) func() {
	object := g.node(i)
	change(object)
	return func() {
		n := *object
		n.ResourceVersion = g.next()
		a.ApplyNode(&n)
	}
}

func (g *growingCluster) namespaceIs(a recording, name string, labels map[string]string) func() {
	object := g.namespace(name, labels)
	return func() {
		n := *object
		n.ResourceVersion = g.next()
		a.ApplyNamespace(&n)
	}
}

// sequenceIs makes a change at each event, after which it is another generation.
func (g *growingCluster) sequenceIs(a recording, object *v1alpha1.PodSequence, change func(*v1alpha1.PodSequence)) func() {
	return func() {
		ps := *object
		ps.ResourceVersion = g.next()
		change(&ps)
		a.ApplySequence(&ps)
	}
}

func (g *growingCluster) acrossIs(a recording, name string, change func(*v1alpha1.ClusterPodSequence)) func() {
	object := g.across(name)
	return func() {
		c := *object
		c.ResourceVersion = g.next()
		change(&c)
		a.ApplyClusterSequence(&c)
	}
}

func (g *growingCluster) podEvents(a recording) []growthEvent {
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	database := func(t, i int, status corev1.ConditionStatus) func() {
		return g.again(a, g.teamPod(t, "database", i, status))
	}
	driver := func(status corev1.ConditionStatus) func() { return g.again(a, g.driverPod("network", 1, status)) }
	shape := func(cpu int, pool string) (*corev1.Pod, func()) {
		p := waiting(g.pod(team(0), "web", 90_000, "", nil), pool, cpu)
		if pool == "" {
			p.Spec.NodeSelector = nil
		}
		return p, func() { a.RemovePod(p) }
	}
	known, removeKnown := shape(100, pool(0))
	before, removeBefore := shape(12_345, "")
	unknown, cpu := *before, int64(20_000)
	newShape := func() {
		cpu++
		unknown.ResourceVersion = g.next()
		unknown.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI)},
		}}}
		a.ApplyPod(&unknown)
	}
	return []growthEvent{
		{"a pod's readiness, its group stays incomplete", database(0, 1, no), database(0, 1, yes)},
		{"a pod's readiness, its group was passed before", database(1, 1, no), database(1, 1, yes)},
		{"a pod's readiness, which releases or holds 27 pods", database(0, 0, yes), database(0, 0, no)},
		{"a driver's readiness on a node", driver(no), driver(yes)},
		{"a held pod comes or goes, of a known shape", g.again(a, known), removeKnown},
		{"a held pod comes or goes, of a shape that was there before", g.again(a, before), removeBefore},
		{"a held pod comes or goes, of a new shape", newShape, removeBefore},
		twice("a held pod is annotated", g.again(a, g.teamPod(0, "web", 7, ""))),
	}
}

func (g *growingCluster) nodeEvents(a recording) []growthEvent {
	same := g.nodeIs(a, 1, func(*corev1.Node) {})
	label := func(key, value string) func() {
		return g.nodeIs(a, 1, func(n *corev1.Node) { n.Labels[key] = value })
	}
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus) func() {
		return g.nodeIs(a, 1, func(n *corev1.Node) {
			for i := range n.Status.Conditions {
				if c := &n.Status.Conditions[i]; c.Type == kind {
					c.Status = status
				}
			}
		})
	}
	return []growthEvent{
		twice("a heartbeat of a node", same),
		{"a node comes or goes", g.nodeIs(a, g.nodes, func(*corev1.Node) {}), func() { a.RemoveNode(cloudNode(g.nodes)) }},
		{"a label of a node that nobody selects", label("note", "x"), same},
		{"a node's pool", label("pool", pool(2)), same},
		{"a condition of a node that nobody asks for", condition(corev1.NodeMemoryPressure, corev1.ConditionTrue), same},
		{"a node turns not ready, or ready", condition(corev1.NodeReady, corev1.ConditionUnknown), same},
	}
}

func (g *growingCluster) sequenceEvents(a recording) []growthEvent {
	generation := int64(1)
	edit := func(object *metav1.ObjectMeta, groups []v1alpha1.PodGroup) []v1alpha1.PodGroup {
		generation++
		object.Generation, groups = generation, slices.Clone(groups)
		groups[len(groups)-1].WaitDuration = v1alpha1.Duration(fmt.Sprint(generation%2, "s"))
		return groups
	}
	editOf := func(object *v1alpha1.PodSequence) func() {
		return g.sequenceIs(a, object, func(ps *v1alpha1.PodSequence) { ps.Spec.PodGroups = edit(&ps.ObjectMeta, ps.Spec.PodGroups) })
	}
	status := func(key types.NamespacedName) v1alpha1.PodSequenceStatus {
		report, _ := a.Report(key)
		return report.Status(report.Object, growthNow)
	}
	volumesAre := func(state v1alpha1.ObjectState) func() {
		return g.acrossIs(a, "storage", func(c *v1alpha1.ClusterPodSequence) { c.Status = volumesStatus(state) })
	}
	labels := func(key, value string) func() {
		labels := map[string]string{"tenant": "yes", "pool": pool(0)}
		labels[key] = value
		return g.namespaceIs(a, team(0), labels)
	}
	ofTeam, onNodes := status(namespaced(team(0), "shop")), status(namespaced("", "network"))
	return []growthEvent{
		twice("the status of a team is written", g.sequenceIs(a, g.ofTeam(0), func(ps *v1alpha1.PodSequence) { ps.Status = ofTeam })),
		twice("a sequence of a team is edited", editOf(g.ofTeam(0))),
		twice("a sequence of a platform is edited", editOf(g.ofPlatform(0))),
		{"an object turns ready, or not ready", volumesAre(v1alpha1.ObjectWaiting), volumesAre(v1alpha1.ObjectSatisfied)},
		{"a label of a namespace that nobody selects", labels("note", "x"), labels("pool", pool(0))},
		{"a namespace of 99 pods changes its pool", labels("pool", pool(1)), labels("pool", pool(0))},
		twice("the status of a ClusterPodSequence is written", g.acrossIs(a, "network", func(c *v1alpha1.ClusterPodSequence) { c.Status = onNodes })),
		twice("the template of a DaemonSet changes", func() {
			set := g.driverSet("network")
			generation++
			set.Generation = generation
			a.ApplyWorkload(set)
		}),
		twice("a ClusterPodSequence is edited", g.acrossIs(a, "network", func(c *v1alpha1.ClusterPodSequence) {
			generation++
			c.Generation, c.Spec.PodGroups = generation, slices.Clone(c.Spec.PodGroups)
			c.Spec.PodGroups[1].WaitDuration = v1alpha1.Duration(fmt.Sprint(generation%2, "s"))
		})),
	}
}
