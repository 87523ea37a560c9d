package integration

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

// BenchmarkReadyToBound measures from the moment at which the last pod of a group is seen to be ready to the moment at
// which the pod that waited for it is seen to be bound, and counts the requests that this took. Run it with
//
//	go test -run '^$' -bench ReadyToBound -benchtime 20x ./test/integration/
func BenchmarkReadyToBound(b *testing.B) {
	for name, makePod := range map[string]func(*story) *st.PodWrapper{
		"gate-less": func(s *story) *st.PodWrapper { return s.pod("app") },
		"gated":     func(s *story) *st.PodWrapper { return s.gated("app") },
		"stock-scheduler": func(s *story) *st.PodWrapper {
			return s.gated("app").SchedulerName(stockScheduler)
		},
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			var writes int
			for b.Loop() {
				s := newStory(b)
				s.Create(s.sequence("shop").Pods("Database", "db").Pods("Application", "app").Obj())
				s.createPods(s.pod("db"), makePod(s))
				s.awaitBound("db")
				s.awaitHeldFor("app", "group 1/2")
				took = append(took, s.readyToBound("db", "app"))
				writes += s.countWrites("app")
			}
			reportLatency(b, took)
			b.ReportMetric(float64(writes)/float64(len(took)), "writes/pod")
		})
	}
}

// BenchmarkReadyToBoundInAGraph is the same for the last group of a diamond, and for the last of 64 groups that depends on 16 of
// them: the last pod that it waits for turns ready.
func BenchmarkReadyToBoundInAGraph(b *testing.B) {
	graphs := map[string]func(*story) (*SequenceWrapper, []string){
		"diamond": func(s *story) (*SequenceWrapper, []string) { return s.diamond(), []string{"db", "left", "right"} },
		"16-of-64": func(s *story) (*SequenceWrapper, []string) {
			wide, names := s.sequence("shop"), []string{}
			for i := range 63 {
				name := "part-" + strconv.Itoa(i)
				wide, names = wide.Group(vertex(name)), append(names, name)
			}
			return wide.Group(vertex("top", names[47:]...)), names[47:]
		},
	}
	for name, makeGraph := range graphs {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				s := newStory(b)
				graph, before := makeGraph(s)
				s.Create(graph.Obj())
				for _, predecessor := range append([]string{"top"}, before...) {
					s.createPods(s.pod(predecessor))
				}
				last := before[len(before)-1]
				for _, predecessor := range before[:len(before)-1] {
					s.awaitBound(predecessor)
					s.makeReady(predecessor)
				}
				s.awaitBound(last)
				s.awaitHeldFor("top", `"`+last+`"`)
				took = append(took, s.readyToBound(last, "top"))
			}
			reportLatency(b, took)
		})
	}
}

func reportLatency(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/median")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms/worst")
}

// readyToBound makes one pod ready and returns the time until another is bound, both as one watch sees them.
func (s *story) readyToBound(predecessor, waiting string) time.Duration {
	ctx, cancel := context.WithTimeout(s.Ctx, cluster.Patience)
	defer cancel()
	pods := s.Watch(ctx, &corev1.PodList{})
	defer pods.Stop()
	s.annotate(predecessor, cluster.ReadyAfter, "0s")

	var ready time.Time
	for event := range pods.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		require.True(s, ok && event.Type != watch.Error, "watch of pods failed: %v", event.Object)
		switch {
		case pod.Name == predecessor && cluster.IsReady(pod) && ready.IsZero():
			ready = time.Now()
		case pod.Name == waiting && pod.Spec.NodeName != "":
			require.False(s, ready.IsZero(), "%s is bound before %s is ready", waiting, predecessor)
			return time.Since(ready)
		}
	}
	s.Fatalf("%s was never bound", waiting)
	return 0
}

// countWrites counts the requests of schedulers and controllers that changed pods whose names begin so: all but the test's
// own and those of the simulated kubelet.
func (s *story) countWrites(prefix string) int {
	count := 0
	s.AuditedHere(func(e *cluster.Request) {
		ref := e.ObjectRef
		if ref == nil || !e.IsAnswered() || ref.Namespace != s.Namespace || ref.Resource != "pods" || !strings.HasPrefix(ref.Name, prefix) {
			return
		}
		writes := slices.Contains([]string{"create", "update", "patch"}, e.Verb)
		if writes && (strings.Contains(e.User.Username, "scheduler") || strings.Contains(e.User.Username, "podsequence-controller")) {
			count++
		}
	})
	return count
}
