package sequence

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
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

	moved := makePod("app-0", "4").Label("tier", "app").Toleration("anything").Obj()
	assert.Len(t, engine.ApplyPod(moved).Released, 1, "now other nodes may suit it")
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

// A program that was restarted comes to know nodes in another order.
func TestWhichSequenceAPodWaitsForDoesNotDependOnTheOrderOfEvents(t *testing.T) {
	version := 1
	driver := func(sequence string, node int, ready bool) *corev1.Pod {
		version++
		p := makePod(fmt.Sprint(sequence, node), fmt.Sprint(version)).Label("app", sequence).Node(fmt.Sprint("node-", node))
		if ready {
			p.Condition(corev1.PodReady, corev1.ConditionTrue, "")
		}
		return p.Obj()
	}
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		engine := newEngine()
		for _, i := range order {
			engine.ApplyNode(fleetNode(i, "1"))
		}
		for node, sequence := range []string{"storage", "network"} {
			engine.ApplySequence(MakeSequence(oracleNamespace, sequence).UID(sequence).NodeScope().
				Label("Driver", "app", sequence).Label("Application", "tier", "app").Obj())
			for _, i := range order {
				engine.ApplyPod(driver(sequence, i, i != node)) // on each node another driver is not ready
			}
		}
		app := makePod("app", "1").Label("tier", "app").Obj()
		engine.ApplyPod(app)
		waitsFor := func(sequence string) {
			assert.Contains(t, engine.Decide(app).Message(), "PodSequence "+oracleNamespace+"/"+sequence+" are ready")
		}
		waitsFor("network")
		engine.ApplyPod(driver("storage", 1, false))
		waitsFor("network")
		engine.ApplyPod(driver("network", 1, true))
		waitsFor("storage")
	}
}

func TestAPodWhoseHostIsGoneIsToldToWait(t *testing.T) {
	for name, takeAway := range map[string]func(answering) Changes{
		"deleted":     func(e answering) Changes { return e.RemoveNode("node-0") },
		"other label": func(e answering) Changes { return e.ApplyNode(host("other", "3")) },
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

// The scheduler filters all nodes for a pod with a node selector on the host name, unless a plugin names the nodes.
func TestAPinnedPodHasFewNodes(t *testing.T) {
	pinned := func(host string) *corev1.Pod {
		return makePod("pinned", "1").Label("tier", "app").NodeSelector(map[string]string{corev1.LabelHostname: host}).Obj()
	}
	tests := map[string]struct {
		pod  *corev1.Pod
		want []string
	}{
		"by the label of a host that is open":             {pod: pinned("here"), want: []string{"node-0"}},
		"by the label of a host that is not open":         {pod: pinned("there"), want: []string{}},
		"by the label of two hosts, of which one is open": {pod: pinned("twice"), want: []string{"node-1"}},
		"by the name of the node": {
			pod:  makePod("pinned", "1").Label("tier", "app").NodeAffinityIn("metadata.name", []string{"node-1"}, st.NodeSelectorTypeMatchFields).Obj(),
			want: []string{"node-1"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			engine := fleet(50)
			for i, label := range map[int]string{0: "here", 49: "there", 1: "twice", 48: "twice"} {
				node := fleetNode(i, "2")
				node.Labels[corev1.LabelHostname] = label
				engine.ApplyNode(node)
			}
			engine.ApplyPod(driver(48, "2", corev1.ConditionFalse))
			engine.ApplyPod(tc.pod)
			nodes, few := engine.Placement(tc.pod).Few(5)
			assert.True(t, few)
			assert.ElementsMatch(t, tc.want, sets.List(nodes))
		})
	}
}
