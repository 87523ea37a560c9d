package report

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/spec"
)

// What there is no room for is forgotten: first what makes pods wait longer, last what would make them start too early.
func TestWhatStatusForgetsOfNodesMakesPodsWaitLonger(t *testing.T) {
	groups := []Group{{Title: "A", ContinueOnTimeout: true}, {Title: "B"}}
	nodes := func(first, count int, timedOut, readyBefore []int32) (nodes []Node) {
		for i := range count {
			nodes = append(nodes, Node{Name: fmt.Sprintf("node-%06d", first+i), TimedOut: timedOut, ReadyBefore: readyBefore})
		}
		return nodes
	}
	var odd []Node // of each of which something else is remembered
	for i := range 5000 {
		odd = append(odd, nodes(i, 1, []int32{int32(i % 64), int32(i / 64)}, nil)...)
	}
	tests := map[string]struct {
		nodes []Node
		want  map[string]int // how many are remembered, by what
	}{
		"there is room for all": {nodes(0, 5000, []int32{0}, []int32{1}), map[string]int{"[0] [1]": 5000}},
		"too many nodes":        {nodes(0, 20_000, []int32{0}, nil), map[string]int{"[0] []": 9209}},
		"first that they timed out": {
			append(nodes(0, 9000, []int32{1}, nil), nodes(9000, 4000, nil, []int32{1})...), map[string]int{"[] [1]": 4000, "[1] []": 5202},
		},
		"last that they must not go on": {
			append(nodes(0, 20_000, nil, []int32{1}), nodes(20_000, 6000, nil, []int32{0})...), map[string]int{"[] [0]": 6000, "[] [1]": 3202},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := Report{PerNode: true, Groups: groups, Nodes: test.nodes}
			got := map[string]int{}
			for _, same := range r.nodeMemory() {
				got[fmt.Sprint(same.TimedOut, same.ReadyBefore)] += len(same.Nodes) / len(spec.NodeID{})
			}
			assert.Equal(t, test.want, got)
			text, err := json.Marshal(r.nodeMemory())
			require.NoError(t, err)
			assert.LessOrEqual(t, len(text), maxNodeMemory)
		})
	}
	t.Run("something else of each node", func(t *testing.T) {
		memory := Report{PerNode: true, Groups: groups, Nodes: odd}.nodeMemory()
		text, err := json.Marshal(memory)
		require.NoError(t, err)
		assert.LessOrEqual(t, len(text), maxNodeMemory)
		assert.Greater(t, len(memory), 1000)
		assert.Equal(t, memory, Report{PerNode: true, Groups: groups, Nodes: odd}.nodeMemory(), "the same is forgotten each time")
	})
}

// The messages of all nodes together are bounded, and nothing else of a node is left out for it.
func TestMessagesOfNodesAreShortTogether(t *testing.T) {
	r := Report{PerNode: true, Groups: []Group{{Title: "A"}}}
	for i := range 300 {
		failed := &Group{Failure: &spec.Problem{Reason: v1alpha1.ReasonPodFailed, Message: fmt.Sprintf("%0200d", i)}}
		r.Nodes = append(r.Nodes, Node{Name: fmt.Sprintf("node-%03d", i), Group: failed})
	}
	status := r.Status(&v1alpha1.PodSequence{}, time.Unix(1000, 0))
	require.Len(t, status.NodeStatus, v1alpha1.MaxListedNodes)
	sum := 0
	for i, n := range status.NodeStatus {
		require.Len(t, n.Conditions, 1)
		assert.Equal(t, v1alpha1.ReasonPodFailed, n.Conditions[0].Reason)
		assert.Equal(t, i < maxNodeMessages/200, n.Conditions[0].Message != "", i)
		sum += len(n.Conditions[0].Message)
	}
	assert.LessOrEqual(t, sum, maxNodeMessages)
	assert.Contains(t, status.Message, "(256 of 300 nodes that wait are listed)")
}
