package podsequence

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// unbounded are turns that never wait.
type unbounded struct{}

func (unbounded) Turn(types.NamespacedName, int) bool { return true }

func (unbounded) Forget(types.NamespacedName) {}

func TestPacer(t *testing.T) {
	shop := types.NamespacedName{Namespace: "shop", Name: "backend"}
	other := types.NamespacedName{Namespace: "shop", Name: "frontend"}
	clock := clocktesting.NewFakePassiveClock(time.Now())
	pacer := newPacer(clock, unbounded{})

	assert.Zero(t, pacer.wait(shop), "the first write goes at once")
	pacer.wrote(shop)
	assert.Equal(t, writeInterval, pacer.wait(shop))
	assert.Zero(t, pacer.wait(other), "objects do not wait for one another")

	clock.SetTime(clock.Now().Add(writeInterval - time.Millisecond))
	assert.Equal(t, time.Millisecond, pacer.wait(shop))
	clock.SetTime(clock.Now().Add(time.Millisecond))
	assert.Zero(t, pacer.wait(shop))
	clock.SetTime(clock.Now().Add(time.Hour))
	assert.Zero(t, pacer.wait(shop), "a long wait does not save up writes")

	pacer.wrote(shop)
	pacer.forget(shop)
	assert.Zero(t, pacer.wait(shop), "an object made again under the same name starts afresh")
	assert.Empty(t, pacer.last)
}

func TestALargeStatusCostsAsMuchAsSeveralSmallOnes(t *testing.T) {
	long := &v1alpha1.LabelSelector{MatchExpressions: make([]v1alpha1.LabelSelectorRequirement, 16)}
	tests := map[string]struct {
		spec   v1alpha1.PodSequenceSpec
		status v1alpha1.PodSequenceStatus
		want   int
	}{
		"a few groups":         {status: v1alpha1.PodSequenceStatus{Groups: make([]v1alpha1.GroupStatus, 3)}, want: 1},
		"as many as there are": {status: v1alpha1.PodSequenceStatus{Groups: make([]v1alpha1.GroupStatus, 64)}, want: 9},
		"all nodes that are listed": {
			status: v1alpha1.PodSequenceStatus{
				Groups: make([]v1alpha1.GroupStatus, 2), NodeStatus: make([]v1alpha1.NodeStatus, v1alpha1.MaxListedNodes),
			},
			want: 9,
		},
		"long selectors": {spec: v1alpha1.PodSequenceSpec{PodGroups: slices.Repeat([]v1alpha1.PodGroup{{PodSelector: long}}, 8)}, want: 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, writeCost(&test.spec, &test.status)) })
	}
}
