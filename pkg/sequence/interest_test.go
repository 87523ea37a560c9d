package sequence

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	. "example.com/podsequence/test/harness/builders"
)

func TestANamespaceIsForgotten(t *testing.T) {
	e := NewEngine(Config{SchedulerNames: []string{"ours"}})
	pod := func(name string) *st.PodWrapper {
		return st.MakePod().Namespace("shop").Name(name).UID(name).SchedulerName("ours")
	}
	waiting, rejected := pod("waiting").Obj(), pod("rejected").Phase(corev1.PodFailed).Obj()
	bound, ended := pod("bound").Node("n").Obj(), pod("ended").Node("n").Phase(corev1.PodSucceeded).Obj()
	for _, p := range []*corev1.Pod{waiting, rejected, bound, ended} {
		e.ApplyPod(p)
	}
	e.ApplyPod(st.MakePod().Namespace("other").Name("bound").UID("elsewhere").Node("n").Obj())
	e.ApplyWorkload(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "job", UID: "job"}})
	ps := MakeSequence("shop", "shop").UID("shop").Pods("Database", "db").Pods("Application", "waiting").Obj()
	e.ApplySequences([]Stored{{PodSequence: ps}})
	assert.True(t, e.Decide(waiting).Held)
	assert.True(t, e.KnowsUnbound(waiting))
	assert.False(t, e.KnowsUnbound(bound))

	pods := func(namespace string) []string { return slices.Collect(maps.Keys(e.namespaces.pods(namespace))) }
	e.ForgetNamespace("shop")
	assert.Len(t, pods("shop"), 4, "a PodSequence speaks of it")

	e.RemoveSequence(types.NamespacedName{Namespace: "shop", Name: "shop"}, "8")
	e.ForgetNamespace("shop")
	assert.Equal(t, []string{"waiting"}, pods("shop"))
	assert.Empty(t, e.workloads.byNamespace["shop"])
	assert.Equal(t, []string{"bound"}, pods("other"))

	e.RemovePod(waiting)
	assert.NotContains(t, e.namespaces, "shop")
	assert.False(t, e.KnowsUnbound(waiting))
}
