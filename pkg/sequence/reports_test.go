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
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// A pod whose gate was lifted in its turn looks like one that nothing could hold.
func TestWhichPodsAreReportedAsUngoverned(t *testing.T) {
	stock := func(version string) *st.PodWrapper { return makePod("two", version).SchedulerName("default-scheduler") }
	gated := stock("6").SchedulingGates([]string{v1alpha1.DefaultSchedulingGateName}).Obj()
	bound := stock("7").Node("n").Obj()
	labelled := func(p *st.PodWrapper) *corev1.Pod { return p.Label(v1alpha1.SequenceLabel, "shop").Obj() }
	tests := map[string]struct {
		lite     bool
		notReady bool          // the group before
		pod      []*corev1.Pod // one version after another
		want     []string
	}{
		"one whose gate was lifted in its turn":                     {pod: []*corev1.Pod{gated, bound}},
		"one whose gate somebody lifted before its turn":            {pod: []*corev1.Pod{gated, bound}, notReady: true, want: []string{"two"}},
		"one whose gate was lifted, but that has no node yet":       {pod: []*corev1.Pod{gated, stock("7").Obj()}, want: []string{"two"}},
		"one that nothing could hold":                               {pod: []*corev1.Pod{bound}, want: []string{"two"}},
		"one that was given the gate in lite mode":                  {pod: []*corev1.Pod{labelled(stock("7").Node("n"))}, lite: true},
		"one that was not given it":                                 {pod: []*corev1.Pod{labelled(stock("7"))}, lite: true, want: []string{"two"}},
		"one that was not given our scheduler":                      {pod: []*corev1.Pod{labelled(stock("7").Node("n"))}, want: []string{"two"}},
		"one of lite mode that nothing could hold: it has no label": {pod: []*corev1.Pod{bound}, lite: true, want: []string{"two"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			if test.lite {
				engine = newEngineOf(func(c *Config) { c.SchedulerNames, c.ClusterScopeOnly = nil, true })
			}
			engine.ApplySequence(shop().Mode(v1alpha1.Continuous).Obj())
			if !test.notReady {
				engine.ApplyPod(makePod("one", "5").Node("n").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj())
			}
			for _, version := range test.pod {
				engine.ApplyPod(version)
			}
			engine.ApplyPod(makePod("one", "8").Node("n").Obj()) // it restarts
			report, ok := engine.Report(shopKey)
			require.True(t, ok)
			assert.Equal(t, test.want, report.Ungoverned)
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
