package order

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
