package sequence

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
	. "example.com/podsequence/test/harness/builders"
)

// graphShapes say of the 64 groups of a sequence on which ones each depends; nil is the list.
var graphShapes = map[string]func(group int) []int{
	"list": func(int) []int { return nil },
	"chain": func(group int) []int {
		return span(group-1, group)
	},
	"layers of 8": func(group int) []int {
		layer := group / 8 * 8
		return span(layer-8, layer)
	},
	"each on the 16 before": func(group int) []int {
		return span(group-16, group)
	},
}

// span returns the groups from one to before another.
func span(from, to int) []int {
	groups := []int{}
	for i := max(0, from); i < to; i++ {
		groups = append(groups, i)
	}
	return groups
}

// graphOf is a sequence of 64 groups with one pod in each.
func graphOf(dependsOn func(int) []int) *SequenceWrapper {
	graph := MakeSequence(oracleNamespace, "graph").UID("graph").Mode(v1alpha1.Continuous)
	for i := range order.MaxGroups {
		group := v1alpha1.PodGroup{Name: "g" + strconv.Itoa(i), Pods: []string{"pod-" + strconv.Itoa(i)}}
		if groups := dependsOn(i); groups != nil {
			group.DependsOn = []string{}
			for _, j := range groups {
				group.DependsOn = append(group.DependsOn, "g"+strconv.Itoa(j))
			}
		}
		graph.Group(group)
	}
	return graph
}

// BenchmarkGraph measures events of a sequence of 64 groups, all of them ready: a pod of the first, of a middle and of the last
// group stops being ready or turns ready again, and the sequence is edited.
func BenchmarkGraph(b *testing.B) {
	for shape, dependsOn := range graphShapes {
		engine, version := newEngine(), 1
		pod := func(group int, ready corev1.ConditionStatus) *corev1.Pod {
			version++
			return makePod("pod-"+strconv.Itoa(group), strconv.Itoa(version)).Node("n").
				Conditions([]corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}).Obj()
		}
		graph := graphOf(dependsOn)
		engine.ApplySequence(graph.DeepCopy())
		for i := range order.MaxGroups {
			engine.ApplyPod(pod(i, corev1.ConditionTrue))
		}
		for _, group := range []int{0, order.MaxGroups / 2, order.MaxGroups - 1} {
			b.Run(fmt.Sprintf("%s/a pod of group %d", shape, group), func(b *testing.B) {
				b.ReportAllocs()
				for i := range b.N {
					engine.ApplyPod(pod(group, []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue}[i%2]))
				}
			})
			engine.ApplyPod(pod(group, corev1.ConditionTrue))
		}
		b.Run(shape+"/an edit", func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				version++
				graph.Generation(int64(2 + i))
				graph.ResourceVersion = strconv.Itoa(version)
				graph.Spec.PodGroups[order.MaxGroups-1].WaitDuration = v1alpha1.Duration([]string{"0s", "1s"}[i%2])
				engine.ApplySequence(graph.DeepCopy())
			}
		})
	}
}
