package sequence

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	. "example.com/podsequence/internal/testing"
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

// crowd is an engine with a group of two named pods and a group of held ones. It returns the first of the named pods.
func crowd(held int) (*Engine, *corev1.Pod) {
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
