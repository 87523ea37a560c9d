package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestNoNodeWentOnWithoutAGroupThatIsSkipped(t *testing.T) {
	r := Report{PerNode: true, Groups: []Group{
		{Title: "A", Skipped: true, ContinueOnTimeout: true, Timeout: 5 * time.Second},
		{Title: "B", ContinueOnTimeout: true, Timeout: 10 * time.Second},
	}, Nodes: []Node{{Name: "n", TimedOut: []int32{0}}}}
	_, any := r.TimedOutNodes()
	assert.False(t, any)
	r.Nodes[0].TimedOut = []int32{0, 1}
	problem, any := r.TimedOutNodes()
	assert.True(t, any)
	assert.Contains(t, problem.Message, `"B"`)
}

// The other group is inserted before it into a graph, so that its definition stays the same.
func TestAGroupThatMovesKeepsWhenAnEditChangedIt(t *testing.T) {
	changed := metav1.NewTime(time.Unix(1_800_000_000, 0))
	ps := &v1alpha1.PodSequence{}
	ps.Status.Groups = []v1alpha1.GroupStatus{{Name: "Driver", Hash: "d", ChangedAt: &changed}}
	r := Report{PerNode: true, Continuous: true, Groups: []Group{{Title: "New", Hash: "n"}, {Title: "Driver", Hash: "d"}}}
	status := r.Status(ps, changed.Add(time.Hour))
	assert.Nil(t, status.Groups[0].ChangedAt)
	assert.Equal(t, &changed, status.Groups[1].ChangedAt)
}
