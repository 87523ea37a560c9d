package sequence

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "example.com/podsequence/test/harness/builders"
)

// TestTheFirstOfALineHaveTheRoom compares a line with a sorted list.
func TestTheFirstOfALineHaveTheRoom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	l, pods, room := newClassQueue(), []*pod{}, 0
	for i := range 2_000 {
		switch n := random.IntN(8); {
		case n < 4:
			object := makePod("pod-"+strconv.Itoa(i), "1").Priority(int32(random.IntN(3))).Obj()
			object.CreationTimestamp.Time = worldEpoch.Add(time.Duration(random.IntN(5)) * time.Second)
			p := viewPod(object)
			l.push(p, room)
			pods = append(pods, p)
		case n < 7 && len(pods) > 0:
			gone := random.IntN(len(pods))
			l.remove(pods[gone])
			pods = slices.Delete(pods, gone, gone+1)
		default:
			room = random.IntN(30)
		}
		before := map[*pod]bool{}
		for _, p := range pods {
			before[p] = p.queuePlace.fits
		}
		l.divide(room, func(p *pod) { before[p] = !before[p] })
		slices.SortFunc(pods, func(a, b *pod) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		require.Len(t, slices.Collect(l.all()), len(pods))
		for at, p := range pods {
			require.Equal(t, at < room, p.queuePlace.fits, "step %d: pod %d of %d, room for %d", i, at, len(pods), room)
			require.Equal(t, before[p], p.queuePlace.fits, "step %d: that it moved is not said", i)
		}
	}
}

// The room of a node is looked at for those alone who wait for it: what happens on a node does not cost what is held.
func TestWhatIsUsedOfANodeMovesNoMorePodsThanItMust(t *testing.T) {
	engine := newEngine()
	node := fleetNode(0, "1")
	node.Status.Allocatable = resourcesOf("pods=5")
	engine.ApplyNode(node)
	engine.ApplyWorkload(driverSet("1", 1))
	engine.ApplySequence(MakeSequence(oracleNamespace, "csi").UID("csi").NodeScope().Label("Driver", "app", "driver").Label("Application", "tier", "app").Obj())
	for i := range 100 {
		engine.ApplyPod(makePod("app-"+strconv.Itoa(i), "1").Label("tier", "app").Obj())
	}
	changes := engine.ApplyNodeUse("node-0", Resources{{Name: "pods", Amount: 2}})
	assert.Len(t, changes.Released, 2)
	assert.Empty(t, changes.Held)
	changes = engine.ApplyNodeUse("node-0", Resources{{Name: "pods", Amount: 1}})
	assert.Len(t, changes.Held, 1)
	assert.Empty(t, changes.Released)
	assert.True(t, new(engine.ApplyNodeUse("node-0", Resources{{Name: "pods", Amount: 1}})).Empty())
	assert.Equal(t, 4, engine.HeldPods().Pods)
}
