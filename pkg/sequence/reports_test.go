package sequence

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// A pod whose gate was lifted in its turn looks like one that nothing could hold, but for the proof on it.
func TestAPodThatWasReleasedIsNotReportedAsUngoverned(t *testing.T) {
	ps := shop().Mode(v1alpha1.Continuous).Obj()
	ready := func(version string) *corev1.Pod {
		return makePod("one", version).Node("n").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj()
	}
	bound := func() *corev1.Pod { return makePod("two", "6").SchedulerName("default-scheduler").Node("n").Obj() }
	tests := map[string]struct {
		pod  *corev1.Pod
		want int
	}{
		"one that we released":        {released(bound(), ps, 1), 0},
		"one that nothing could hold": {bound(), 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			engine.ApplySequence(ps)
			engine.ApplyPod(ready("5"))
			engine.ApplyPod(test.pod)
			engine.ApplyPod(makePod("one", "7").Node("n").Obj()) // it restarts
			report, ok := engine.Report(shopKey)
			require.True(t, ok)
			assert.Len(t, report.Problems, test.want)
		})
	}
}

// Nodes go before their pods are collected.
func TestNodesThatAreGoneLeaveNothing(t *testing.T) {
	engine := newEngine()
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("Driver", "tier", "driver").Label("App", "tier", "app").NodeScope().Obj())
	driver := &appsv1.DaemonSet{}
	driver.Namespace, driver.Name, driver.UID, driver.ResourceVersion = oracleNamespace, "driver", "driver", "1"
	driver.Spec.Template.Labels = map[string]string{"tier": "driver"}
	engine.ApplyWorkload(driver)
	for i := range 100 {
		name := fmt.Sprintf("node-%d", i)
		engine.ApplyNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "2"}})
		pod := makePod(name, "3").Label("tier", "driver").Node(name).Obj()
		pod.OwnerReferences = []metav1.OwnerReference{controllerRef("apps/v1", "DaemonSet", "driver", "driver")}
		engine.ApplyPod(pod)
		engine.RemoveNode(name)
		engine.RemovePod(pod)
	}
	assert.Len(t, engine.sequences[shopKey].domains, 1, "the one for pods without a node")
	assert.Empty(t, engine.workloads.byUID["driver"].onNode)
}

// What no status has recorded, a restart may forget.
func TestWhatNoStatusRecorded(t *testing.T) {
	t.Run("a time-out counts anew: the group may have been ready before", func(t *testing.T) {
		ps := shop().Obj()
		ps.Spec.PodGroups[0].Timeout, ps.Spec.PodGroups[0].OnTimeout = "60s", v1alpha1.TimeoutContinue
		ps.CreationTimestamp = metav1.NewTime(scenarioEpoch)
		two := makePod("two", "5").Obj()
		engine := newEngine()
		engine.Tick(scenarioEpoch.Add(3600e9))
		engine.ApplyPod(makePod("one", "4").Node("n").Obj())
		engine.ApplyPod(two)
		engine.ApplySequence(ps)
		assert.True(t, engine.Decide(two).Held)
		engine.Tick(engine.NextWake())
		assert.False(t, engine.Decide(two).Held)
		assert.Equal(t, scenarioEpoch.Add(3661e9), engine.now)
	})
	t.Run("on a node too", func(t *testing.T) {
		ps := MakeSequence(oracleNamespace, "shop").UID("shop").Pods("One", "one").Timeout("60s", v1alpha1.TimeoutContinue).Pods("Two", "two").NodeScope().Obj()
		ps.CreationTimestamp = metav1.NewTime(scenarioEpoch)
		two := makePod("two", "5").Obj()
		engine := newEngine()
		engine.Tick(scenarioEpoch.Add(3600e9))
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", ResourceVersion: "1", CreationTimestamp: metav1.NewTime(scenarioEpoch)}}
		engine.ApplyNode(node)
		engine.ApplyPod(makePod("one", "4").Node("n").Obj())
		engine.ApplyPod(two)
		engine.ApplySequence(ps)
		assert.True(t, engine.Placement(two).Open("n").Held)
		engine.Tick(engine.NextWake())
		assert.False(t, engine.Placement(two).Open("n").Held)
		assert.Equal(t, scenarioEpoch.Add(3661e9), engine.now)
	})
}
