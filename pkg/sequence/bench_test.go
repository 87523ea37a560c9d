package sequence

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// BenchmarkPodEvent measures one pod's change of readiness, in a namespace where all but one of the pods are held.
// The cost must not grow with their number.
func BenchmarkPodEvent(b *testing.B) {
	for _, pods := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			engine, changing := crowd(pods)
			version := pods
			b.ReportAllocs()
			for b.Loop() {
				version++
				changing.ResourceVersion = strconv.Itoa(version)
				status := corev1.ConditionTrue
				if version%2 == 0 {
					status = corev1.ConditionFalse
				}
				changing.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
				engine.ApplyPod(changing)
			}
		})
	}
}

// BenchmarkDecide measures what PreEnqueue costs for a held pod, under the scheduler's queue lock.
func BenchmarkDecide(b *testing.B) {
	for _, pods := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			engine, _ := crowd(pods)
			held := makePod("app-1", "1").Label("tier", "app").Obj()
			b.ReportAllocs()
			for b.Loop() {
				if !engine.Decide(held).Held {
					b.Fatal("the pod is not held")
				}
			}
		})
	}
}

// BenchmarkRelease measures the event that lets all held pods go, per pod.
func BenchmarkRelease(b *testing.B) {
	for _, pods := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				engine, _ := crowd(pods)
				ready := makePod("db-0", "900000").Phase(corev1.PodSucceeded).Node("n").Obj()
				engine.ApplyPod(ready)
				last := makePod("db-1", "900001").Phase(corev1.PodSucceeded).Node("n").Obj()
				b.StartTimer()
				if released := len(engine.ApplyPod(last).Released); released != pods {
					b.Fatalf("released %d pods, want %d", released, pods)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pods), "ns/pod")
		})
	}
}

// BenchmarkPodMemory measures what pods cost: how long it takes to learn of all of them at the start, and
// how much is kept of each.
func BenchmarkPodMemory(b *testing.B) {
	const pods = 50_000
	ofNone := MakeSequence(oracleNamespace, "shop").UID("shop").Pods("Database", "db-0")
	imports := MakeSequence(oracleNamespace, "shop").UID("shop").Label("Import", "tier", "import")
	waiting := MakeSequence(oracleNamespace, "shop").UID("shop").Pods("Database", "db-0").Label("Import", "tier", "import")
	onNodes := MakeSequence(oracleNamespace, "shop").UID("shop").Label("Driver", "tier", "driver").Label("Import", "tier", "import")
	onNodes.Spec.Scope = v1alpha1.ScopeNode
	ended := func(p *st.PodWrapper, i int) *st.PodWrapper {
		return p.Phase(corev1.PodSucceeded).Node("node-" + strconv.Itoa(i%100))
	}
	unbound := func(p *st.PodWrapper, _ int) *st.PodWrapper {
		spec := &p.Obj().Spec
		for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} { // as admission adds them
			spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
				Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300)),
			})
		}
		return p
	}
	for name, of := range map[string]struct {
		sequence *SequenceWrapper
		state    func(*st.PodWrapper, int) *st.PodWrapper
	}{
		"that have ended, of no sequence": {ofNone, ended},
		"that have ended, of a sequence":  {imports, ended},
		"that wait in the cluster":        {waiting, unbound},
		"that wait for a node":            {onNodes, unbound},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				before := heapInUse()
				engine := newEngine()
				engine.ApplySequence(of.sequence.Obj())
				list := make([]*corev1.Pod, pods)
				for i := range list {
					made := of.state(makePod("import-"+strconv.Itoa(i), "1").Label("tier", "import").Container("example.com/import"), i).Obj()
					received, err := json.Marshal(made)
					require.NoError(b, err)
					list[i] = &corev1.Pod{}
					require.NoError(b, json.Unmarshal(received, list[i]))
				}
				b.StartTimer()
				engine.ReplacePods(list, "")
				b.StopTimer()
				clear(list)
				b.ReportMetric(float64(heapInUse()-before)/pods, "B/pod")
				runtime.KeepAlive(engine)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pods), "ns/pod")
		})
	}
}

// heapInUse is how many bytes are in use.
func heapInUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// crowd is an engine with a group of two named pods and a group of held ones. It returns the first of the named pods.
func crowd(held int) (recording, *corev1.Pod) {
	engine := newEngine()
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").
		Pods("Database", "db-0", "db-1").Label("Application", "tier", "app").Obj())
	for i := range held {
		engine.ApplyPod(makePod("app-"+strconv.Itoa(i), "1").Label("tier", "app").Obj())
	}
	first := makePod("db-0", "1").Node("n").Obj()
	engine.ApplyPod(first)
	return engine, first
}
