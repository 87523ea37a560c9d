package podsequence

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/pkg/sequence"
)

func TestWhatPodsTakeOnNodesIsSummedUp(t *testing.T) {
	pod := func(node, cpu string) *v1.Pod {
		return st.MakePod().Name("p").Node(node).Req(map[v1.ResourceName]string{v1.ResourceCPU: cpu}).Obj()
	}
	of := func(cpu, pods int64) sequence.Resources {
		return sequence.Resources{{Name: v1.ResourceCPU, Amount: cpu}, {Name: v1.ResourcePods, Amount: pods}}
	}
	u := newNodeUse()
	u.OnAdd(pod("", "1"), true)
	assert.Empty(t, u.take(), "it has no node")
	u.OnUpdate(pod("", "1"), pod("a", "1"))
	u.OnAdd(pod("a", "500m"), true)
	u.OnAdd(pod("b", "2"), true)
	assert.Equal(t, map[string]sequence.Resources{"a": of(1500, 2), "b": of(2000, 1)}, u.take())
	changed := pod("a", "1")
	changed.Status.Phase = v1.PodRunning
	u.OnUpdate(pod("a", "1"), changed)
	assert.Empty(t, u.take(), "it takes the same")
	generations := pod("a", "1")
	generations.Generation = 2
	u.OnUpdate(generations, generations)
	assert.Empty(t, u.take(), "its API server says that it takes the same")
	u.OnUpdate(pod("a", "1"), pod("a", "3"))
	assert.Equal(t, map[string]sequence.Resources{"a": of(3500, 2)}, u.take(), "resized in place")
	ended := pod("a", "3")
	ended.Status.Phase = v1.PodSucceeded
	u.OnUpdate(pod("a", "3"), ended)
	u.OnDelete(cache.DeletedFinalStateUnknown{Obj: pod("b", "2")})
	assert.Equal(t, map[string]sequence.Resources{"a": of(500, 1), "b": nil}, u.take())
	u.OnDelete(ended)
	u.OnDelete(pod("a", "500m"))
	assert.Equal(t, map[string]sequence.Resources{"a": nil}, u.take())
	assert.Empty(t, u.sums, "nothing is kept of a node without pods")

	ctx, cancel := context.WithCancel(t.Context())
	u.OnAdd(pod("c", "1"), false)
	published := map[string]sequence.Resources{}
	u.publish(ctx, func(node string, used sequence.Resources) {
		if published[node] = used; node == "d" {
			cancel()
			return
		}
		u.OnAdd(pod("d", "2"), false)
	})
	assert.Equal(t, map[string]sequence.Resources{"c": of(1000, 1), "d": of(2000, 1)}, published)
}
