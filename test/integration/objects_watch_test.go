package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// BenchmarkObjectToBound measures from the write of an object's condition to the moment at which a watch shows that the pod is bound
// which waited for it. Run it on an idle machine with
//
//	go test -run '^$' -bench ObjectToBound -benchtime 20x ./test/integration/
func BenchmarkObjectToBound(b *testing.B) {
	var took []time.Duration
	for b.Loop() {
		s := newStory(b)
		k := s.installedCertificates()
		k.create("tls")
		s.Create(s.sequence("shop").Objects("Certificate", k.reference("tls", "Ready")).Pods("Application", "app").Obj())
		s.createPods(s.pod("app"))
		s.awaitObject("shop", v1alpha1.ObjectWaiting)
		s.awaitHeldFor("app", "is not ready")
		later := time.Now().Add(time.Second) // statuses are written once in a second
		s.Await("the last write to be a second ago", func() bool { return time.Now().After(later) })

		pods := s.Watch(s.Ctx, &corev1.PodList{})
		start := time.Now()
		k.setReady("tls", "True", start)
		for event := range pods.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok && pod.Name == "app" && pod.Spec.NodeName != "" {
				took = append(took, time.Since(start))
				break
			}
		}
		pods.Stop()
	}
	reportLatency(b, took)
}

// BenchmarkThousandObjects measures what 1,000 objects of one namespace cost the controller, of which 16 or all are waited for: memory,
// and requests after the first list.
func BenchmarkThousandObjects(b *testing.B) {
	for _, sequences := range []int{1, 63} {
		b.Run(fmt.Sprintf("waited-for-%d", 16*sequences), func(b *testing.B) {
			for b.Loop() {
				s := newStoryIn(b, exclusively(b))
				k := s.installedCertificates()
				k.create("tls-0")
				for i := 1; i < 1008; i++ {
					object := k.object(fmt.Sprintf("tls-%d", i))
					object.Object["spec"] = map[string]any{"chain": strings.Repeat("x", 4096)}
					s.Create(object)
				}
				before := s.env.Metric(b, controlplane.PodSequenceController, "process_resident_memory_bytes")
				for i := range sequences {
					var references []v1alpha1.ObjectReference
					for j := range 16 {
						references = append(references, k.reference(fmt.Sprintf("tls-%d", 16*i+j), "Ready"))
					}
					s.Create(s.sequence(fmt.Sprintf("shop-%d", i)).Objects("Certificates", references...).Pods("Application", "app").Obj())
				}
				for i := range sequences {
					s.awaitObject(fmt.Sprintf("shop-%d", i), v1alpha1.ObjectWaiting)
				}
				after := s.env.Metric(b, controlplane.PodSequenceController, "process_resident_memory_bytes")
				b.ReportMetric((after-before)/(1<<20), "MiB")
				requests := 0
				s.Audited(func(r *cluster.Request) {
					if r.Program == controlplane.PodSequenceController && r.IsAnswered() && r.ObjectRef != nil && r.ObjectRef.APIGroup == k.group {
						requests++
					}
				})
				b.ReportMetric(float64(requests), "requests")
			}
		})
	}
}

// In one namespace 100 objects turn ready at once, and each pod that waits for one of them starts.
func TestManyObjectsOfANamespaceTurnReady(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const many = 100
	s := newStory(t)
	k := s.installedCertificates()
	k.create("tls-0")
	for i := range many {
		if i > 0 {
			s.Create(k.object(fmt.Sprintf("tls-%d", i)))
		}
	}
	for i := range many / 10 {
		var references []v1alpha1.ObjectReference
		for j := range 10 {
			references = append(references, k.reference(fmt.Sprintf("tls-%d", 10*i+j), "Ready"))
		}
		pod := fmt.Sprintf("app-%d", i)
		s.Create(s.sequence(fmt.Sprintf("shop-%d", i)).Objects("Certificates", references...).Pods("Application", pod).Obj())
		s.createPods(s.pod(pod))
	}
	for i := range many {
		if i%10 != 0 {
			k.setReady(fmt.Sprintf("tls-%d", i), "True", time.Now())
		}
	}
	s.expectHeld("app-0", "app-9")
	for i := range many / 10 {
		k.setReady(fmt.Sprintf("tls-%d", 10*i), "True", time.Now())
	}
	for i := range many / 10 {
		s.awaitBound(fmt.Sprintf("app-%d", i))
	}
}
