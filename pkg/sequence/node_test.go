package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// The scheduler writes to a pod that it cannot place. Were the pod released at that update, it would be tried again at
// once, and so permanently.
func TestAPodThatNothingHasChangedForIsNotLetGoAgain(t *testing.T) {
	engine := fleet(3)
	update := func(version string) Changes {
		return engine.ApplyPod(makePod("app-0", version).Label("tier", "app").Condition(corev1.PodScheduled, corev1.ConditionFalse, version).Obj())
	}
	assert.Empty(t, update("2").Released)
	assert.Empty(t, update("3").Released)
}

// What a held pod says is written when it is held, and again when it waits for another group.
func TestAPinnedPodThatWaitsForAnotherGroupIsToldSo(t *testing.T) {
	engine := newEngine()
	engine.ApplyNode(fleetNode(0, "1"))
	ps := MakeSequence(oracleNamespace, "stack").UID("stack").
		Label("Network", "tier", "cni").Label("Storage", "tier", "csi").Label("Monitoring", "tier", "agent").Obj()
	ps.Spec.Scope = v1alpha1.ScopeNode
	engine.ApplySequence(ps)
	onNode := func(tier, version string) *st.PodWrapper {
		return makePod(tier, version).Label("tier", tier).Node("node-0")
	}
	agent := makePod("agent", "1").Label("tier", "agent").NodeAffinityIn("metadata.name", []string{"node-0"}, st.NodeSelectorTypeMatchFields)
	engine.ApplyPod(onNode("cni", "1").Obj())
	engine.ApplyPod(agent.Obj())
	assert.Contains(t, engine.Decide(agent.Obj()).Message(), "group 1/3")

	changes := engine.ApplyPod(onNode("cni", "2").Phase(corev1.PodSucceeded).Obj())
	assert.Contains(t, engine.Decide(agent.Obj()).Message(), "group 2/3")
	assert.Equal(t, []types.NamespacedName{{Namespace: oracleNamespace, Name: "agent"}}, changes.Held)
}

func TestAPodWhoseHostIsGoneIsToldToWait(t *testing.T) {
	for name, takeAway := range map[string]func(recording) Changes{
		"deleted":     func(e recording) Changes { return e.RemoveNode("node-0") },
		"other label": func(e recording) Changes { return e.ApplyNode(host("other", "3")) },
	} {
		t.Run(name, func(t *testing.T) {
			engine := fleet(2)
			engine.ApplyNode(host("here", "2"))
			app := makePod("app", "1").Label("tier", "app").NodeSelector(map[string]string{corev1.LabelHostname: "here"}).Obj()
			engine.ApplyPod(app)
			assert.False(t, engine.Decide(app).Held)
			assert.Contains(t, takeAway(engine).Held, types.NamespacedName{Namespace: oracleNamespace, Name: "app"})
			assert.True(t, engine.Decide(app).Held)
		})
	}
}

func host(label, version string) *corev1.Node {
	node := fleetNode(0, version)
	node.Labels[corev1.LabelHostname] = label
	return node
}

func TestStatusThatSaysThatTheFirstGroupHadBeenReleasedReleasesItOnNodes(t *testing.T) {
	for name, listed := range map[string]bool{"node in status": true, "not": false} {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			engine.Tick(time.Unix(1_700_000_000, 0))
			engine.ApplyNode(fleetNode(0, "1"))
			ps := MakeSequence(oracleNamespace, "shop").UID("shop").NodeScope().Label("Driver", "app", "driver").Label("App", "tier", "app").Obj()
			ps.Spec.Suspend = true
			ps.ResourceVersion = "2"
			engine.ApplySequence(ps)
			p := makePod("driver", "3").UID("driver").Label("app", "driver").NodeAffinityIn("metadata.name", []string{"node-0"}, st.NodeSelectorTypeMatchFields).Obj()
			engine.ApplyPod(p)
			assert.True(t, engine.Verdict(p).Held)
			next := ps.DeepCopy()
			next.ResourceVersion = "4"
			at := metav1.Unix(1_700_000_000, 0)
			next.Status.Groups = []v1alpha1.GroupStatus{{Name: "Driver", ReleasedAt: &at, Hash: engine.sequences[shopKey].Groups[0].Hash}, {Name: "App"}}
			if listed {
				next.Status.NodeStatus = []v1alpha1.NodeStatus{{NodeName: "node-0", Phase: "InProgress"}}
			}
			changes := engine.ApplySequence(next)
			assert.False(t, engine.Decide(p).Held, "Decide: %s", engine.Decide(p).Message())
			assert.False(t, engine.Verdict(p).Held)
			assert.Len(t, changes.Released, 1)
		})
	}
}
