package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	. "example.com/podsequence/test/harness/builders"
)

// gpuFleet returns an engine with this many nodes. The device plugin runs on those in zone 0, which offer these resources.
func gpuFleet(nodes int, offers string) answering {
	engine := newEngine()
	for i := range nodes {
		node := fleetNode(i, "1")
		node.Status.Allocatable = resourcesOf("cpu=8 pods=10")
		if i%3 == 0 {
			node.Status.Allocatable = resourcesOf(offers)
		}
		engine.ApplyNode(node)
	}
	set := driverSet("1", 1)
	set.Spec.Template.Spec.NodeSelector = map[string]string{"zone": "0"}
	engine.ApplyWorkload(set)
	engine.ApplySequence(MakeSequence(oracleNamespace, "gpus").UID("gpus").NodeScope().
		Label("Plugin", "app", "driver").NodeSelector("zone", "0").Label("Application", "tier", "app").Obj())
	return engine
}

func asking(name, requests string) *corev1.Pod {
	p := makePod(name, "1").Label("tier", "app").Obj()
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: resourcesOf(requests)}}}
	return p
}

func TestPodsWaitForDevicesHoweverTheyRequestThem(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	requests := corev1.ResourceRequirements{Requests: resourcesOf("example.com/gpu=1")}
	withInit := func(init corev1.Container) *corev1.Pod {
		p := asking("app", "cpu=1")
		p.Spec.InitContainers = []corev1.Container{init}
		return p
	}
	podLevel := asking("app", "example.com/gpu=1")
	podLevel.Spec.Resources = &corev1.ResourceRequirements{Requests: resourcesOf("cpu=2")}
	none := asking("app", "example.com/gpu=0 cpu=1")
	tests := map[string]struct {
		pod  *corev1.Pod
		held bool
	}{
		"a container":                               {asking("app", "example.com/gpu=1"), true},
		"an init container":                         {withInit(corev1.Container{Name: "init", Resources: requests}), true},
		"a sidecar":                                 {withInit(corev1.Container{Name: "side", Resources: requests, RestartPolicy: &always}), true},
		"a container of a pod that has a budget":    {podLevel, true},
		"none of them":                              {none, false},
		"a resource that no driver brings to nodes": {asking("app", "example.kubernetes.io/thing=1"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			engine := gpuFleet(3, "cpu=8 pods=10")
			engine.ApplyPod(test.pod)
			assert.Equal(t, test.held, engine.Decide(test.pod).Held)
		})
	}
}

// The scheduler may know of devices that a node does not list, as it does for those of DRA.
func TestNodesThatDoNotListDevicesAreLeftToTheScheduler(t *testing.T) {
	engine := gpuFleet(6, "cpu=8 pods=10 example.com/gpu=1")
	for _, i := range []int{0, 3} {
		engine.ApplyPod(driver(i, "1", corev1.ConditionTrue))
	}
	app := asking("app", "example.com/gpu=1")
	engine.ApplyPod(app)
	_, few := engine.Placement(app).Few(5)
	assert.False(t, few, "two nodes have devices, and all are open")
	nodes, few := engine.Placement(app).Few(6)
	assert.True(t, few)
	assert.Len(t, nodes, 6)
	assert.False(t, engine.Placement(app).Open("node-1").Held, "the order keeps no pod from it")

	engine.ApplyPod(driver(0, "2", corev1.ConditionFalse))
	nodes, few = engine.Placement(app).Few(6)
	assert.True(t, few)
	assert.Equal(t, []string{"node-1", "node-2", "node-3", "node-4", "node-5"}, sets.List(nodes))
}

// Pods of which some plugin found no node must be tried again.
func TestPodsLearnThatANodeOpensThatLacksDevices(t *testing.T) {
	engine := gpuFleet(3, "cpu=8 pods=10 example.com/gpu=1")
	engine.ApplyPod(driver(0, "1", corev1.ConditionTrue))
	app := asking("app", "example.com/gpu=1")
	engine.ApplyPod(app)
	node := fleetNode(4, "1")
	node.Status.Allocatable = resourcesOf("cpu=8 pods=10")
	changes := engine.ApplyNode(node)
	assert.Len(t, changes.Released, 1)
}

func TestTheNodesOnTheWayAreThoseThatMayHaveTheDevices(t *testing.T) {
	engine := gpuFleet(6, "cpu=8 pods=10")
	csi := driverSet("1", 1)
	csi.Name, csi.UID, csi.Spec.Template.Labels = "csi", "csi", map[string]string{"tier": "csi"}
	engine.ApplyWorkload(csi)
	engine.ApplySequence(MakeSequence(oracleNamespace, "csi").UID("csi").NodeScope().
		Label("Driver", "tier", "csi").Label("Application", "tier", "app").Obj())
	app := asking("app", "example.com/gpu=1")
	engine.ApplyPod(app)
	for _, sequence := range []string{"gpus", "csi"} {
		key := types.NamespacedName{Namespace: oracleNamespace, Name: sequence}
		assert.Equal(t, []string{"node-0", "node-3"}, engine.NodesOnTheWay(app, key), sequence)
	}
}

func TestADryRunWaitsForDevicesToo(t *testing.T) {
	engine := gpuFleet(3, "cpu=8 pods=10")
	ps := MakeSequence(oracleNamespace, "dry").UID("dry").NodeScope().
		Label("Plugin", "app", "driver").NodeSelector("zone", "0").Label("Application", "tier", "app").Obj()
	ps.Spec.DryRun = true
	engine.ApplySequence(ps)
	engine.ApplyPod(asking("app", "example.com/gpu=1"))
	engine.ApplyPod(asking("web", "cpu=1"))
	report, ok := engine.Report(types.NamespacedName{Namespace: oracleNamespace, Name: "dry"})
	assert.True(t, ok)
	assert.Equal(t, []string{"app"}, report.DryRun.Pods)
}
