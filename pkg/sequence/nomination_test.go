package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

func nominated(pod *corev1.Pod) *corev1.Pod {
	pod.Status.NominatedNodeName = "node-2"
	return pod
}

func TestTheNominationOfAHeldPod(t *testing.T) {
	app1 := types.NamespacedName{Namespace: oracleNamespace, Name: "app"}
	news := []types.NamespacedName{app1}
	continuous := func(t *testing.T) recording {
		engine := newEngine()
		engine.ApplySequence(continuousShop())
		engine.ApplyPod(readyPod(oracleNamespace, "db", "db", "2"))
		return engine
	}
	unready := func(version string) *corev1.Pod { return makePod("db", version).Label("tier", "db").Node("node").Obj() }

	t.Run("a pod that may be scheduled keeps it, and loses it when it is held again", func(t *testing.T) {
		engine := continuous(t)
		engine.ApplyPod(app("app", "3"))
		assert.Empty(t, engine.ApplyPod(nominated(app("app", "4"))).Nominated)
		assert.Zero(t, engine.Nomination(app1))
		changes := engine.ApplyPod(unready("5"))
		assert.Equal(t, news, changes.Held)
		assert.Equal(t, news, changes.Nominated)
		assert.Equal(t, Nomination{UID: "app", ResourceVersion: "4"}, engine.Nomination(app1))
		assert.JSONEq(t, `{"metadata":{"uid":"app","resourceVersion":"4"},"status":{"nominatedNodeName":null}}`,
			string(engine.Nomination(app1).ClearPatch()))

		assert.Empty(t, engine.ApplyPod(unready("6")).Nominated, "it was reported")
		assert.Empty(t, engine.ApplyPod(app("app", "7")).Nominated)
		assert.Zero(t, engine.Nomination(app1), "it is cleared")
	})
	t.Run("a held pod that is nominated loses it, each time", func(t *testing.T) {
		engine := continuous(t)
		engine.ApplyPod(unready("3"))
		engine.ApplyPod(app("app", "4"))
		changes := engine.ApplyPod(nominated(app("app", "5")))
		assert.Equal(t, news, changes.Nominated, "what the scheduler wrote at the end of a cycle that had begun before")
		assert.Empty(t, changes.Held)
		assert.False(t, changes.Empty())
		changes = engine.ReplacePods([]*corev1.Pod{unready("3"), nominated(app("app", "7"))}, "7")
		assert.Equal(t, news, changes.Nominated, "that it was cleared in between nobody saw")
		assert.Equal(t, "7", engine.Nomination(app1).ResourceVersion)
	})
	t.Run("after a restart", func(t *testing.T) {
		engine := newEngine()
		engine.ReplacePods([]*corev1.Pod{unready("3"), nominated(app("app", "4"))}, "4")
		engine.ApplySequence(continuousShop())
		assert.Equal(t, news, engine.Everything().Nominated)
	})
	t.Run("a pod that only waits until a pass is recorded is not held for certain", func(t *testing.T) {
		engine := newEngine().Engine
		shop := continuousShop()
		shop.Spec.EnforcementMode = v1alpha1.BootstrapOnly
		engine.ApplySequence(shop)
		engine.ApplyPod(readyPod(oracleNamespace, "db", "db", "10"))
		engine.ApplyPod(nominated(app("app", "11")))
		require.True(t, engine.Decide(app("app", "11")).Held)
		assert.True(t, engine.Nomination(app1).Recording)
		engine.ApplyPod(unready("12"))
		assert.Equal(t, Nomination{UID: "app", ResourceVersion: "11"}, engine.Nomination(app1))
	})
	for sentence, change := range map[string]func(*corev1.Pod){
		"a pod of another scheduler keeps it":    func(p *corev1.Pod) { p.Spec.SchedulerName = "default-scheduler" },
		"a bound pod is not touched":             func(p *corev1.Pod) { p.Spec.NodeName = "node-2" },
		"a pod that is being deleted is ignored": func(p *corev1.Pod) { p.DeletionTimestamp = &p.CreationTimestamp },
		"a pod of no sequence keeps it":          func(p *corev1.Pod) { p.Labels = nil },
	} {
		t.Run(sentence, func(t *testing.T) {
			engine := continuous(t)
			engine.ApplyPod(unready("3"))
			pod := nominated(app("app", "4"))
			change(pod)
			assert.Empty(t, engine.ApplyPod(pod).Nominated)
			assert.Zero(t, engine.Nomination(app1))
		})
	}
	assert.Zero(t, newEngine().Nomination(app1))
}

func continuousShop() *v1alpha1.PodSequence {
	ps := MakeSequence(oracleNamespace, "shop").UID("shop").Label("db", "tier", "db").Label("app", "tier", "app").Mode(v1alpha1.Continuous).Obj()
	ps.ResourceVersion = "1"
	return ps
}
