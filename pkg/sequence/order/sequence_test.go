package order

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

func TestGroupSet(t *testing.T) {
	var passed GroupSet
	passed.Add(0)
	passed.Add(63)
	assert.True(t, passed.Has(0))
	assert.True(t, passed.Has(63))
	assert.False(t, passed.Has(1))
	assert.Equal(t, GroupSet(0), Before(0))
	assert.Equal(t, GroupSet(0b111), Before(3))
	assert.Equal(t, ^GroupSet(0), Before(64))
	assert.True(t, passed.Contains(Before(1)))
	assert.False(t, passed.Contains(Before(2)))
}

func TestAGroupComesAfterAllBeforeIt(t *testing.T) {
	s := Compile(Stored{PodSequence: MakeSequence("shop", "backend").Pods("One", "a").Pods("Two", "b").Pods("Three", "c").Obj()}, nil, time.Time{})
	require.Len(t, s.Groups, 3)
	for i, want := range []GroupSet{0, 0b1, 0b11} {
		assert.Equal(t, want, s.Groups[i].Predecessors, "group %d", i)
	}
}

// TestMoreGroupsThanThereCanBe is about an object that no definition of the kind ever allowed.
func TestMoreGroupsThanThereCanBe(t *testing.T) {
	ps := MakeSequence("shop", "backend").Obj()
	ps.Spec.SchedulingGateName = "g"
	for range MaxGroups + 1 {
		ps.Spec.PodGroups = append(ps.Spec.PodGroups, v1alpha1.PodGroup{PodSelector: &v1alpha1.LabelSelector{}})
	}
	s := Compile(Stored{PodSequence: ps}, []string{"g"}, time.Time{})
	require.Len(t, s.Problems, 1)
	assert.Equal(t, v1alpha1.ReasonInvalidSpec, s.Problems[0].Reason)
	assert.False(t, s.Groups[MaxGroups-2].Unreadable)
	assert.True(t, s.Groups[MaxGroups-1].Unreadable, "so that the sequence is never completed")
	assert.Len(t, s.Groups, MaxGroups)
}
