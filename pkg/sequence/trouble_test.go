package sequence

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// silentNode is node-1, whose kubelet is silent and says this in the end.
func silentNode(version, message string) *corev1.Node {
	node := fleetNode(1, version)
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown", Message: message,
		LastTransitionTime: metav1.NewTime(worldEpoch), LastHeartbeatTime: metav1.NewTime(worldEpoch),
	}}
	return node
}

func TestStatusNamesTheConditionOfANode(t *testing.T) {
	const want = "; node node-1 has not been ready since 2026-01-01T12:00:00Z (NodeStatusUnknown: Kubelet stopped posting node status)"
	for name, scope := range map[string]v1alpha1.Scope{"in the cluster": v1alpha1.ScopeCluster, "on the node": v1alpha1.ScopeNode} {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			engine.ApplyNode(fleetNode(1, "1"))
			shop := MakeSequence(oracleNamespace, "shop").UID("shop").Label("Driver", "app", "driver").Label("App", "tier", "app").Obj()
			shop.Spec.Scope = scope
			engine.ApplySequence(shop)
			engine.ApplyWorkload(driverSet("1", 1))
			engine.ApplyPod(driver(1, "1", corev1.ConditionFalse))
			status := func() string {
				report, ok := engine.Report(shopKey)
				require.True(t, ok)
				status := report.Status(shop, worldEpoch)
				if scope != v1alpha1.ScopeNode {
					return status.Message
				}
				for _, n := range status.NodeStatus {
					return n.Conditions[0].Message
				}
				return "" // no node waits
			}
			require.NotContains(t, status(), "node-1")

			changes := engine.ApplyNode(silentNode("2", "Kubelet stopped posting node status."))
			assert.True(t, changes.Sequences.Has(shopKey), "status is written anew")
			assert.Contains(t, status(), want)

			heartbeat := silentNode("3", "Kubelet stopped posting node status.")
			heartbeat.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(worldEpoch.Add(time.Minute))
			changes = engine.ApplyNode(heartbeat)
			assert.True(t, changes.Empty(), "a heartbeat is no news")

			changes = engine.ApplyNode(fleetNode(1, "4"))
			assert.True(t, changes.Sequences.Has(shopKey))
			assert.NotContains(t, status(), "has not been ready")

			cordoned := fleetNode(1, "5")
			cordoned.Spec.Unschedulable = true
			engine.ApplyNode(cordoned)
			assert.Contains(t, status(), "; node node-1 is cordoned")

			engine.ApplyPod(driver(1, "2", corev1.ConditionTrue))
			assert.NotContains(t, status(), "cordoned", "its pods are ready")
		})
	}
}

func TestPodsAreToldThatTheirNodeIsNotReady(t *testing.T) {
	engine := newEngine()
	engine.ApplyNode(silentNode("1", "\x1b[2J"+strings.Repeat("long ", 100)))
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("Driver", "app", "driver").Label("App", "tier", "app").NodeScope().Obj())
	engine.ApplyPod(driver(1, "1", corev1.ConditionFalse))
	app := makePod("app", "2").Label("tier", "app").NodeAffinityIn("metadata.name", []string{"node-1"}, st.NodeSelectorTypeMatchFields).Obj()
	engine.ApplyPod(app)
	message := engine.Decide(app).Message()
	assert.Contains(t, message, `0 of 1 pods ready; node node-1 has not been ready since 2026-01-01T12:00:00Z (NodeStatusUnknown: \x1b[2Jlong `)
	assert.Less(t, len(message), 400)
	filtered := engine.Placement(app).Open("node-1").FilterMessage()
	assert.Equal(t, `node(s) waiting for group 1/2 "Driver" of PodSequence shop/shop while the node is not ready`, filtered)
}
