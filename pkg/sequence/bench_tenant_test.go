package sequence

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

const (
	tenantPods      = 10_000
	tenantSequences = 1_000
)

// tenant is an engine with one namespace of many pods and sequences. Each sequence holds as many pods as any other.
type tenant struct {
	*Engine
	version int
	pods    []*corev1.Pod
}

func newTenant(pods, sequences int) *tenant {
	t := &tenant{Engine: newEngine().Engine, pods: make([]*corev1.Pod, pods)}
	for i := range pods {
		t.pods[i] = t.pod(i, sequences)
	}
	t.ReplacePods(t.pods, t.next())
	for i := range sequences {
		t.ApplySequence(t.sequence(i))
	}
	return t
}

func (t *tenant) next() string {
	t.version++
	return strconv.Itoa(t.version)
}

func (t *tenant) pod(i, sequences int) *corev1.Pod {
	return makePod("app-"+strconv.Itoa(i), t.next()).Label("of", strconv.Itoa(i%sequences)).Label("team", "shop").Obj()
}

// sequence is one whose first group is not ready.
func (t *tenant) sequence(i int) *v1alpha1.PodSequence {
	name := "s-" + strconv.Itoa(i)
	ps := MakeSequence(oracleNamespace, name).UID(name).Pods("Database", "db").Label("Application", "of", strconv.Itoa(i)).Obj()
	ps.ResourceVersion = t.next()
	return ps
}

// edited is the sequence with another spec. change makes the difference.
func (t *tenant) edited(i int, change func(*v1alpha1.PodSequence)) *v1alpha1.PodSequence {
	ps := t.sequence(i)
	ps.Generation = int64(t.version)
	change(ps)
	return ps
}

// events are the events with which somebody who may do anything in a namespace can make the engine work.
func (t *tenant) events() map[string]func() {
	everyPod := func(ps *v1alpha1.PodSequence) { ps.Spec.PodGroups[1].PodSelector = &v1alpha1.LabelSelector{} }
	return map[string]func(){
		"pod": func() {
			p := t.pods[t.version%len(t.pods)].DeepCopy()
			p.ResourceVersion = t.next()
			p.Annotations = map[string]string{"turn": p.ResourceVersion}
			t.ApplyPod(p)
		},
		"pod with another label": func() {
			p := t.pods[t.version%len(t.pods)].DeepCopy()
			p.ResourceVersion = t.next()
			p.Labels["of"] = strconv.Itoa(t.version % tenantSequences)
			t.ApplyPod(p)
		},
		"edit of a wait": func() {
			t.ApplySequence(t.edited(7, func(ps *v1alpha1.PodSequence) {
				everyPod(ps)
				ps.Spec.PodGroups[0].WaitDuration = v1alpha1.Duration(t.next() + "s")
			}))
		},
		"edit of a selector": func() {
			t.ApplySequence(t.edited(8, func(ps *v1alpha1.PodSequence) {
				everyPod(ps)
				if t.version%2 == 0 {
					ps.Spec.PodGroups[1].PodSelector.MatchLabels = map[string]v1alpha1.LabelValue{"team": "shop"}
				}
			}))
		},
		"new sequence and deletion": func() {
			ps := t.edited(tenantSequences, everyPod)
			t.ApplySequence(ps)
			t.RemoveSequence(types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name}, t.next())
		},
		"relist of pods": func() {
			list := make([]*corev1.Pod, len(t.pods))
			for i := range t.pods {
				p := *t.pods[i]
				p.ResourceVersion = t.next()
				list[i] = &p
			}
			t.ReplacePods(list, t.next())
		},
	}
}

// BenchmarkTenantEvent measures what an event costs in a namespace of many pods and sequences, and how long the scheduler
// waits meanwhile when it asks about a pod of somebody else.
func BenchmarkTenantEvent(b *testing.B) {
	t := newTenant(tenantPods, tenantSequences)
	other := makePod("other", "1").Obj()
	other.Namespace = "other"
	for name, event := range t.events() {
		b.Run(name, func(b *testing.B) {
			waits := askingMeanwhile(func() { t.Verdict(other) })
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				event()
				took = append(took, time.Since(begin))
			}
			reportTimes(b, "event", took)
			reportTimes(b, "ask", waits())
		})
	}
}

// BenchmarkTenantAsk measures what the scheduler's question costs, under the lock of its queue, while a sequence that has all
// pods of the namespace is edited without end.
func BenchmarkTenantAsk(b *testing.B) {
	t := newTenant(tenantPods, tenantSequences)
	edit := t.events()["edit of a selector"]
	unseen := makePod("unseen", "1").Label("of", "5").Obj()
	changed := t.pods[5].DeepCopy()
	changed.ResourceVersion, changed.Labels["of"] = "9999999", "6"
	for name, pod := range map[string]*corev1.Pod{"known": t.pods[5], "unseen": unseen, "changed": changed} {
		b.Run(name, func(b *testing.B) {
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				for {
					select {
					case <-stop:
						return
					default:
						edit()
					}
				}
			}()
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				t.Verdict(pod)
				took = append(took, time.Since(begin))
			}
			close(stop)
			<-stopped
			reportTimes(b, "ask", took)
		})
	}
}

// askingMeanwhile asks every 100 microseconds until the function is called that it returns, which returns how long that took.
func askingMeanwhile(ask func()) func() []time.Duration {
	stop, result := make(chan struct{}), make(chan []time.Duration)
	go func() {
		var waits []time.Duration
		for {
			select {
			case <-stop:
				result <- waits
				return
			case <-time.After(100 * time.Microsecond):
				begin := time.Now()
				ask()
				waits = append(waits, time.Since(begin))
			}
		}
	}()
	return func() []time.Duration { close(stop); return <-result }
}

func reportTimes(b *testing.B, what string, took []time.Duration) {
	slices.Sort(took)
	if len(took) == 0 {
		return
	}
	for name, at := range map[string]int{"p50": len(took) / 2, "p99": len(took) * 99 / 100, "max": len(took) - 1} {
		b.ReportMetric(float64(took[at].Nanoseconds())/1e3, fmt.Sprintf("µs/%s-%s", what, name))
	}
}
