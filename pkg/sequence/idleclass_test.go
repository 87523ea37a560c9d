package sequence

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	. "example.com/podsequence/test/harness/builders"
)

// waitingOn is a pod that waits for a driver on nodes, and tolerates something by which its equivalence class differs.
func waitingOn(name, version, tolerates, node string) *corev1.Pod {
	return makePod(name, version).Label("tier", "app").Toleration(tolerates).Node(node).Obj()
}

func TestTheNextPodOfAKindFindsTheClassOfThePodBefore(t *testing.T) {
	e := newEngine()
	sequence := func() *SequenceWrapper {
		return MakeSequence(oracleNamespace, "csi").UID("csi").NodeScope().Label("Driver", "app", "driver").Label("Application", "tier", "app")
	}
	e.ApplySequence(sequence().Obj())
	e.ApplyNode(fleetNode(0, "1"))
	e.ApplyPod(driver(0, "1", corev1.ConditionFalse))
	classOf := func(name string) *equivalenceClass { return e.namespaces[oracleNamespace].pods[name].class }

	e.ApplyPod(waitingOn("first", "1", "a", ""))
	class := classOf("first")
	require.NotNil(t, class)
	require.True(t, e.Verdict(waitingOn("first", "1", "a", "")).Held)
	e.ApplyPod(waitingOn("first", "2", "a", "node-0"))
	require.Equal(t, []*equivalenceClass{class}, e.unplaced.idle)

	// What happens to nodes in between counts for the next pod.
	e.ApplyPod(driver(0, "2", corev1.ConditionTrue))
	e.ApplyNode(fleetNode(1, "1"))
	e.ApplyPod(waitingOn("second", "1", "a", ""))
	assert.Same(t, class, classOf("second"))
	assert.Empty(t, e.unplaced.idle)
	assert.False(t, e.Verdict(waitingOn("second", "1", "a", "")).Held, "a node is open now")
	assert.NoError(t, checkSums(e.Engine))

	// So much of pods that are gone is kept, and no more.
	for i := range 2 * mostIdleClasses {
		p := waitingOn("other", "1", strconv.Itoa(i), "")
		e.ApplyPod(p)
		e.RemovePod(p)
	}
	assert.Len(t, e.unplaced.idle, mostIdleClasses)
	assert.Len(t, e.unplaced.requirements.classes, mostIdleClasses+1)
	assert.Len(t, e.unplaced.requirements.byKey, mostIdleClasses+1)
	assert.NoError(t, checkSums(e.Engine))

	// An edit, and a deletion, leave nothing of it.
	edited := sequence().Generation(2).Wait("1s").Obj()
	edited.ResourceVersion = "9"
	e.ApplySequence(edited)
	assert.Empty(t, e.unplaced.idle)
	assert.Len(t, e.unplaced.requirements.classes, 1)
	e.RemovePod(waitingOn("second", "1", "a", ""))
	e.RemoveSequence(namespaced(oracleNamespace, "csi"), "10")
	assert.Empty(t, e.unplaced.requirements.classes)
	assert.Empty(t, e.unplaced.requirements.byKey)
}
