package spec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestMemoryCountsWhereItIsAndElseWhatEarlierReleasesWrote(t *testing.T) {
	early, late := metav1.NewTime(time.Unix(100, 0)), metav1.NewTime(time.Unix(200, 0))
	groups := []v1alpha1.GroupStatus{{Name: "One", Hash: "one", ChangedAt: &early}, {Name: "Two", Hash: "two"}}
	tests := map[string]struct {
		memory *v1alpha1.SequenceMemory
		want   []v1alpha1.GroupStatus
	}{
		"there is none": {nil, groups},
		"it says the same": {
			&v1alpha1.SequenceMemory{Groups: []v1alpha1.GroupMemory{{Hash: "one", ChangedAt: &early}, {Hash: "two"}}}, groups,
		},
		"it says something else": {
			&v1alpha1.SequenceMemory{Groups: []v1alpha1.GroupMemory{{Hash: "1", ChangedAt: &late}, {Hash: "2", ChangedAt: &late}}},
			[]v1alpha1.GroupStatus{{Name: "One", Hash: "1", ChangedAt: &late}, {Name: "Two", Hash: "2", ChangedAt: &late}},
		},
		"a part of it is lost": {
			&v1alpha1.SequenceMemory{Groups: []v1alpha1.GroupMemory{{}}}, groups,
		},
		"it speaks of more groups than there are": {
			&v1alpha1.SequenceMemory{Groups: []v1alpha1.GroupMemory{{}, {}, {Hash: "three"}}}, groups,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := &v1alpha1.PodSequenceStatus{Groups: groups, Memory: test.memory}
			for i, want := range test.want {
				assert.Equal(t, want, GroupRecord(status, i))
			}
		})
	}
}

func TestRememberedNodes(t *testing.T) {
	old := []v1alpha1.NodeStatus{{NodeName: "a", TimedOut: []int32{0}}, {NodeName: "b", ReadyBefore: []int32{1}}, {NodeName: "c"}}
	a, b := NodeIDOf("a"), NodeIDOf("b")
	assert.Equal(t, NodeID{0xca, 0x97, 0x81, 0x12, 0xca, 0x1b}, a, "what stands for a node in stored objects never changes")
	tests := map[string]struct {
		memory *v1alpha1.SequenceMemory
		want   map[NodeID]*v1alpha1.NodeMemory
	}{
		"an earlier release wrote status": {nil, map[NodeID]*v1alpha1.NodeMemory{a: {TimedOut: []int32{0}}, b: {ReadyBefore: []int32{1}}}},
		"nothing is remembered":           {&v1alpha1.SequenceMemory{}, nil},
		"the same of both": {
			&v1alpha1.SequenceMemory{Nodes: []v1alpha1.NodeMemory{{TimedOut: []int32{2}, Nodes: JoinNodes([]NodeID{a, b})}}},
			map[NodeID]*v1alpha1.NodeMemory{
				a: {TimedOut: []int32{2}, Nodes: JoinNodes([]NodeID{a, b})}, b: {TimedOut: []int32{2}, Nodes: JoinNodes([]NodeID{a, b})},
			},
		},
		"it was cut somewhere": {
			&v1alpha1.SequenceMemory{Nodes: []v1alpha1.NodeMemory{{TimedOut: []int32{2}, Nodes: append(JoinNodes([]NodeID{a}), 1, 2)}, {}}},
			map[NodeID]*v1alpha1.NodeMemory{a: {TimedOut: []int32{2}, Nodes: append(JoinNodes([]NodeID{a}), 1, 2)}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, RememberedNodes(&v1alpha1.PodSequenceStatus{NodeStatus: old, Memory: test.memory}))
		})
	}
}
