package sequence

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	. "example.com/podsequence/test/harness/builders"
)

// ofPool is the label of the nodes that an autoscaler adds.
const ofPool = "example.com/pool"

// autoscaledFleet returns an engine with one node, whose driver is starting.
func autoscaledFleet(labels ...string) answering {
	engine := newEngineOf(func(c *Config) { c.AutoscaledNodes = []string{"example.com/other-pool", ofPool} })
	node := fleetNode(0, "1")
	node.Status.Allocatable = resourcesOf("cpu=8 pods=10")
	for _, label := range labels {
		node.Labels[label] = "any"
	}
	engine.ApplyNode(node)
	engine.ApplyWorkload(driverSet("1", 1))
	engine.ApplySequence(driverThenApp("b-node").Obj())
	return engine
}

func driverThenApp(name string) *SequenceWrapper {
	return MakeSequence(oracleNamespace, name).UID(name).NodeScope().Label("Driver", "app", "driver").Label("Application", "tier", "app")
}

// An autoscaler counts only pods that are Unschedulable. It must count those that wait for the nodes that it adds, and no others.
func TestPodsThatWaitForNodesOfAnAutoscalerAreUnschedulable(t *testing.T) {
	app := func() *st.PodWrapper { return makePod("app", "1").Label("tier", "app") }
	tests := map[string]struct {
		labels []string
		before func(answering)
		pod    *corev1.Pod
		want   string
	}{
		"the autoscaler added the node": {labels: []string{ofPool}, want: corev1.PodReasonUnschedulable},
		"nobody adds nodes":             {want: corev1.PodReasonSchedulingGated},
		"another sequence does not release the pod": {
			labels: []string{ofPool}, want: corev1.PodReasonSchedulingGated,
			before: func(engine answering) {
				// Its name is the second, so that the pod says that it waits for the other one.
				engine.ApplySequence(MakeSequence(oracleNamespace, "c-shop").UID("c-shop").Pods("", "database").Label("", "tier", "app").Obj())
			},
		},
		"another sequence is suspended": {
			labels: []string{ofPool}, want: corev1.PodReasonSchedulingGated,
			before: func(engine answering) { engine.ApplySequence(driverThenApp("c-node").Suspend().Obj()) },
		},
		"the pod has a gate of others": {
			labels: []string{ofPool}, want: corev1.PodReasonSchedulingGated,
			pod: app().SchedulingGates([]string{"example.com/gate"}).Obj(),
		},
		"the pod asks for this node": {
			labels: []string{ofPool}, want: corev1.PodReasonSchedulingGated,
			pod: app().NodeAffinityIn("metadata.name", []string{"node-0"}, st.NodeSelectorTypeMatchFields).Obj(),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			engine := autoscaledFleet(test.labels...)
			if test.before != nil {
				test.before(engine)
			}
			if test.pod == nil {
				test.pod = app().Obj()
			}
			engine.ApplyPod(test.pod)
			decision := engine.Decide(test.pod)
			require.True(t, decision.Held)
			assert.Equal(t, test.want, decision.ConditionReason(), decision.Message())
		})
	}
}

// The pod says that it waits for the same sequence as before. But that it waits for nothing else is news for the autoscaler.
func TestAPodIsExplainedAnewWhenItWaitsOnlyForNodes(t *testing.T) {
	engine := autoscaledFleet(ofPool)
	engine.ApplySequence(MakeSequence(oracleNamespace, "c-shop").UID("c-shop").Pods("", "database").Label("", "tier", "app").Obj())
	var pods []*corev1.Pod
	for i := range 2 {
		pods = append(pods, makePod("app-"+strconv.Itoa(i), "1").Label("tier", "app").Obj())
		engine.ApplyPod(pods[i])
		require.Equal(t, corev1.PodReasonSchedulingGated, engine.Decide(pods[i]).ConditionReason())
	}
	changes := engine.ApplyPod(makePod("database", "2").Node("node-0").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj())
	assert.Len(t, changes.Held, 2)
	for _, pod := range pods {
		assert.Equal(t, corev1.PodReasonUnschedulable, engine.Decide(pod).ConditionReason())
	}
}

// A kubelet takes time to give a pod less than it has. Until then the scheduler counts what the pod has, and so do we.
func TestNoPodIsHeldForRoomThatAShrinkingPodStillHas(t *testing.T) {
	engine := autoscaledFleet()
	shrinking := makePod("big", "1").Node("node-0").Container("image").Obj()
	shrinking.Spec.Resources = &corev1.ResourceRequirements{Requests: resourcesOf("cpu=1")}
	shrinking.Status.Resources, shrinking.Status.AllocatedResources = &corev1.ResourceRequirements{Requests: resourcesOf("cpu=7")}, resourcesOf("cpu=7")
	app := makePod("app", "1").Label("tier", "app").Req(map[corev1.ResourceName]string{corev1.ResourceCPU: "4"}).Obj()
	engine.ApplyPod(app)
	assert.True(t, engine.Decide(app).Held, "there is room for it on the node on which the driver starts")
	engine.ApplyNodeUse("node-0", TakenBy(shrinking))
	assert.False(t, engine.Decide(app).Held)
	shrinking.Status.Resources, shrinking.Status.AllocatedResources = shrinking.Spec.Resources, resourcesOf("cpu=1")
	engine.ApplyNodeUse("node-0", TakenBy(shrinking))
	assert.True(t, engine.Decide(app).Held)
}

func TestAPodIsExplainedAnewWhenANodeOfAnAutoscalerIsOnTheWayToo(t *testing.T) {
	engine := autoscaledFleet()
	app := makePod("app", "1").Label("tier", "app").Obj()
	engine.ApplyPod(app)
	reason := func() string { return engine.Decide(app).ConditionReason() }
	require.Equal(t, corev1.PodReasonSchedulingGated, reason())
	for i, step := range []struct {
		name    string
		happens func(*corev1.Node) Changes
		want    string
	}{
		{"a node of an autoscaler comes", func(n *corev1.Node) Changes { n.Labels[ofPool] = "any"; return engine.ApplyNode(n) }, corev1.PodReasonUnschedulable},
		{"it loses its label", func(n *corev1.Node) Changes { return engine.ApplyNode(n) }, corev1.PodReasonSchedulingGated},
		{"it gets it back", func(n *corev1.Node) Changes { n.Labels[ofPool] = "any"; return engine.ApplyNode(n) }, corev1.PodReasonUnschedulable},
		{"it goes", func(n *corev1.Node) Changes { return engine.RemoveNode(n.Name) }, corev1.PodReasonSchedulingGated},
	} {
		node := fleetNode(1, strconv.Itoa(i+2))
		node.Status.Allocatable = resourcesOf("cpu=8 pods=10")
		changes := step.happens(node)
		assert.Equal(t, step.want, reason(), step.name)
		assert.Len(t, changes.Held, 1, step.name)
	}
}
