package sequence

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	. "example.com/podsequence/test/harness/builders"
)

// triedFleet returns an engine with so many nodes that have room for a driver and 2 pods each, none of which has a driver, and so many pods that wait for it.
func triedFleet(nodes, pods int) recording {
	engine := newEngine()
	engine.Tick(time.Unix(1_700_000_000, 0))
	for i := range nodes {
		node := fleetNode(i, "1")
		node.Status.Allocatable = resourcesOf("pods=3")
		engine.ApplyNode(node)
	}
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").NodeScope().Label("Driver", "app", "driver").Label("App", "tier", "app").Obj())
	for i := range pods {
		engine.ApplyPod(makePod(fmt.Sprint("app-", i), "1").UID(fmt.Sprint("app-", i)).Label("tier", "app").Obj())
	}
	return engine
}

func uidsOf(t *testing.T, changes Changes) sets.Set[types.UID] {
	t.Helper()
	uids := sets.New[types.UID]()
	for _, r := range changes.Released {
		assert.True(t, r.Again, "nothing held %s", r.Name)
		uids.Insert(r.UID)
	}
	require.Len(t, uids, len(changes.Released), "each once")
	return uids
}

func TestAPodThatIsNotPinnedIsTriedNotHeld(t *testing.T) {
	engine := triedFleet(1, 1)
	app := makePod("app-0", "1").UID("app-0").Label("tier", "app").Obj()
	assert.False(t, engine.Decide(app).Held)
	assert.False(t, engine.Verdict(app).Held)
	refused := engine.Placement(app).Open("node-0")
	assert.True(t, refused.Held)
	assert.Contains(t, refused.FilterMessage(), `node(s) waiting for group 1/2 "Driver" of PodSequence`)
	assert.Equal(t, sets.New[types.UID]("app-0"), uidsOf(t, engine.ApplyPod(driver(0, "2", corev1.ConditionTrue))))
}

func TestWhenANodeOpensAsManyPodsAreTriedAsThereIsRoomFor(t *testing.T) {
	engine := triedFleet(3, 7)
	first := uidsOf(t, engine.ApplyPod(driver(0, "2", corev1.ConditionTrue)))
	assert.Len(t, first, 2)
	opened := engine.now
	assert.Equal(t, opened.Add(restAfter), engine.NextWake())

	engine.Tick(opened.Add(restAfter / 2))
	assert.Len(t, uidsOf(t, engine.ApplyPod(driver(1, "2", corev1.ConditionTrue))), 2, "a second node")
	assert.Equal(t, opened.Add(restAfter), engine.NextWake(), "which does not put off the others")

	assert.Len(t, uidsOf(t, engine.Tick(opened.Add(restAfter))), 7, "and then all others")
	assert.True(t, engine.NextWake().IsZero(), "nothing is tried while no node opens")
	require.Less(t, restAfter, 5*time.Second)

	t.Run("and all at once if the node may have them", func(t *testing.T) {
		engine := triedFleet(1, 2)
		assert.Len(t, uidsOf(t, engine.ApplyPod(driver(0, "2", corev1.ConditionTrue))), 2)
		assert.True(t, engine.NextWake().IsZero())
	})
	t.Run("and none that is gone, bound or of a sequence that is gone", func(t *testing.T) {
		engine := triedFleet(1, 7)
		engine.ApplyPod(driver(0, "2", corev1.ConditionTrue))
		engine.RemovePod(makePod("app-0", "1").UID("app-0").Obj())
		engine.ApplyPod(makePod("app-1", "2").UID("app-1").Label("tier", "app").Node("node-0").Obj())
		assert.Len(t, uidsOf(t, engine.Tick(engine.now.Add(restAfter))), 5)

		engine.ApplyPod(driver(0, "3", corev1.ConditionFalse))
		engine.ApplyPod(driver(0, "4", corev1.ConditionTrue))
		require.False(t, engine.NextWake().IsZero())
		engine.RemoveSequence(shopKey, "5")
		assert.True(t, engine.NextWake().IsZero())
	})
}

// However many nodes open in one step, a pod is released once.
func TestManyNodesThatOpenAtOnceTryEachPodOnce(t *testing.T) {
	engine := triedFleet(0, 3)
	var nodes []*corev1.Node
	ps := MakeSequence(oracleNamespace, "shop").UID("shop").Generation(2).NodeScope().
		Label("Driver", "app", "driver").NodeSelector("zone", "none").Label("App", "tier", "app").Obj()
	ps.ResourceVersion = "2"
	engine.ApplySequence(ps)
	for i := range 100 {
		nodes = append(nodes, fleetNode(i, "1"))
	}
	assert.Len(t, uidsOf(t, engine.ReplaceNodes(nodes, "3")), 3)
}

func TestOpenNodesAreThoseThatAreOpenNow(t *testing.T) {
	engine := triedFleet(3, 1)
	placement := engine.Placement(makePod("app-0", "1").UID("app-0").Label("tier", "app").Obj())
	check := func(want ...string) {
		t.Helper()
		assert.ElementsMatch(t, want, sets.List(placement.OpenNodes().Names))
	}
	check()
	assert.Equal(t, `3 node(s) waiting for group 1/2 "Driver" of PodSequence `+oracleNamespace+`/shop`, placement.OpenNodes().Why)
	engine.ApplyPod(driver(1, "2", corev1.ConditionTrue))
	check("node-1")
	assert.Empty(t, placement.OpenNodes().Why)
	engine.ApplyPod(driver(2, "2", corev1.ConditionTrue))
	check("node-1", "node-2")
	engine.ApplyPod(driver(1, "3", corev1.ConditionFalse))
	check("node-2")
	engine.RemoveNode("node-2")
	check()
	opens := engine.sequences[shopKey].opens.Load()
	engine.ApplyPod(driver(0, "2", corev1.ConditionFalse))
	check()
	assert.Equal(t, opens, engine.sequences[shopKey].opens.Load(), "nothing is looked at anew while no node opens or closes")
}
