package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
)

func TestMessagesOfHeldPods(t *testing.T) {
	held := Decision{
		Held: true, Sequence: types.NamespacedName{Namespace: "shop", Name: "backend"}, Groups: 3, Title: "Database",
		Need: readiness.Need{Required: 2, Expected: 2, Ready: 1, Certain: true}, Until: time.Unix(0, 0),
	}
	tests := map[string]struct {
		reason Reason
		node   string
		want   string
	}{
		"a group in the cluster": {HeldByGroup, "", `waiting for group 1/3 "Database" of PodSequence shop/backend: 1 of 2 pods ready`},
		"a group on a node":      {HeldByGroup, "a", `waiting for group 1/3 "Database" of PodSequence shop/backend on node a: 1 of 2 pods ready`},
		"a wait":                 {HeldByWait, "", `waiting for group 1/3 "Database" of PodSequence shop/backend: ready, its waitDuration ends at 1970-01-01T00:00:00Z`},
		"a suspension":           {HeldBySuspension, "", `waiting for PodSequence shop/backend, which is suspended: set spec.suspend to false to go on`},
	}
	held.SchedulerNames = []string{"podsequence-scheduler", "another"}
	tests["a scheduler that supports scope Node"] = struct {
		reason Reason
		node   string
		want   string
	}{HeldUnsupported, "", "waiting for podsequence-scheduler: only it supports scope Node of PodSequence shop/backend; set schedulerName to " +
		"podsequence-scheduler or another in the pod template; create a pod without a template again"}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := held
			d.Reason, d.Node = test.reason, test.node
			assert.Equal(t, test.want, d.Message())
			assert.False(t, d.Recording())
		})
	}
	assert.Empty(t, Decision{}.Message())
}

// A pod keeps its message until it waits for another group, so the message must not say what the group is like now.
func TestTheMessageOfAHeldPodStaysTrueWhenPodsMatchLater(t *testing.T) {
	held := Decision{
		Held: true, Sequence: types.NamespacedName{Namespace: "shop", Name: "backend"}, Groups: 3, Title: "Database",
		Need: readiness.Need{Nothing: true, Certain: true},
	}
	assert.Equal(t, `waiting for group 1/3 "Database" of PodSequence shop/backend: no pod matched it when this was written`, held.Message())
	assert.Equal(t, `waiting for group 1/3 "Database" of PodSequence shop/backend: no pod matches it yet`, held.MessageNow())
	held.Reason = HeldByTimeout
	assert.Contains(t, held.Message(), ": no pod matched it when this was written")
	assert.Equal(t, "no pod matches it yet", held.Need.String(), "what status says is written anew")
}

func TestAListOfManyIsCut(t *testing.T) {
	assert.Equal(t, "a, b, c", first([]string{"c", "b", "a"}))
	assert.Equal(t, "a, b, c and 2 more", first([]string{"e", "d", "c", "b", "a"}))
}

func TestWhoPausedAWorkloadIsNamed(t *testing.T) {
	by := &inventory.Workload{Kind: inventory.KindDeployment, Name: "web", Pause: inventory.Pause{Paused: true, By: "weekly"}}
	other := &inventory.Workload{Kind: inventory.KindDeployment, Name: "api", Pause: inventory.Pause{Paused: true}}
	assert.Equal(t, ", Deployment api is paused: set its spec.paused to false, Deployment web is paused by DeploymentCoordination weekly until its turn",
		PausedWorkloads([]*inventory.Workload{by, other}, false))
	assert.Empty(t, PausedWorkloads(nil, false))
}

// The scheduler counts nodes by message, so what nodes lack must be said alike.
func TestTheMessageOfTheFilterNamesTheConditionThatANodeLacks(t *testing.T) {
	held := Decision{
		Held: true, Sequence: types.NamespacedName{Namespace: "shop", Name: "training"}, Groups: 2, Title: "Health", Node: "node-3",
		Need: readiness.Need{Memberless: true, Unmet: 1, Lacks: "condition example.com/GPUHealthy is absent"},
	}
	assert.Equal(t, `node(s) waiting for group 1/2 "Health" of PodSequence shop/training: condition example.com/GPUHealthy is absent`, held.FilterMessage())
	assert.Equal(t, `waiting for group 1/2 "Health" of PodSequence shop/training on node node-3: condition example.com/GPUHealthy is absent`, held.Message())
}
