package sequence

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// asksForHealth makes the last group of a sequence one that waits for a condition of nodes, and for nothing else.
func asksForHealth(w *SequenceWrapper) {
	w.Spec.PodGroups[len(w.Spec.PodGroups)-1] = v1alpha1.PodGroup{
		Name: "Health", NodeConditions: []v1alpha1.NodeConditionRequirement{{Type: "example.com/Healthy"}},
	}
}

// reporting gives a node a condition.
func reporting(node *corev1.Node, of corev1.NodeConditionType, status corev1.ConditionStatus) *corev1.Node {
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: of, Status: status, LastTransitionTime: metav1.Unix(1_700_000_000, 0)})
	return node
}

// Agents on thousands of nodes say every minute that nothing has changed.
func TestOnlyWhatSomeGroupAsksForMakesAnUpdateOfANodeNews(t *testing.T) {
	engine := newEngine()
	engine.Tick(time.Unix(1_700_000_100, 0))
	engine.ApplyNode(reporting(fleetNode(0, "1"), "example.com/Healthy", corev1.ConditionFalse))
	engine.ApplySequence(longNodeSequence(asksForHealth))
	version := 1
	update := func(edit func(*corev1.Node)) bool {
		version++
		node := reporting(fleetNode(0, strconv.Itoa(version)), "example.com/Healthy", corev1.ConditionFalse)
		edit(node)
		return engine.ApplyNode(node).Sequences.Len() > 0
	}
	assert.False(t, update(func(*corev1.Node) {}), "nothing has changed")
	assert.False(t, update(func(node *corev1.Node) { node.Status.Conditions[0].LastHeartbeatTime = metav1.Unix(1_700_000_050, 0) }), "a heartbeat")
	assert.False(t, update(func(node *corev1.Node) { reporting(node, "example.com/Other", corev1.ConditionTrue) }), "nobody asks for it")
	assert.True(t, update(func(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionTrue }))
	assert.True(t, update(func(node *corev1.Node) { node.Status.Conditions = nil }))
}

func TestAConditionIsAskedForAsLongAsThereIsTheSequence(t *testing.T) {
	engine := newEngine()
	assert.False(t, engine.asksNodes("example.com/Healthy"))
	ps := longNodeSequence(asksForHealth)
	engine.ApplySequence(ps)
	assert.True(t, engine.asksNodes("example.com/Healthy"))
	assert.False(t, engine.asksNodes("example.com/Other"))
	engine.RemoveSequence(shopKey, "")
	assert.False(t, engine.asksNodes("example.com/Healthy"))
}
