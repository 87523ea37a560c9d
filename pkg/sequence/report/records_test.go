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

func TestWhichPassesStatusKeeps(t *testing.T) {
	at := metav1.NewTime(time.Unix(1_800_000_000, 0))
	own, others := v1alpha1.GroupPass{UID: "own", At: at, TimedOut: true}, v1alpha1.GroupPass{UID: "another", At: at}
	tests := map[string]struct {
		recorded map[string]v1alpha1.GroupPass
		edit     func(r *Report)
		want     map[string]v1alpha1.GroupPass
	}{
		"those of groups that are defined as they were": {
			recorded: map[string]v1alpha1.GroupPass{"db": own, "app": own}, want: map[string]v1alpha1.GroupPass{"db": own, "app": own},
		},
		"not those of groups that are gone": {
			recorded: map[string]v1alpha1.GroupPass{"gone": own},
		},
		"not those of another object": {
			recorded: map[string]v1alpha1.GroupPass{"db": others},
		},
		"those that an earlier release recorded among the groups": {
			edit: func(r *Report) { r.Groups[0].Passed, r.Groups[0].PassedAt = true, at.Time },
			want: map[string]v1alpha1.GroupPass{"db": {UID: "own", At: at, TimedOut: true}},
		},
		"not what passes while nothing is held": {
			edit: func(r *Report) { r.Groups[0].Passed, r.DryRun = true, &DryRun{} },
		},
		"none that may be lost": {
			recorded: map[string]v1alpha1.GroupPass{"db": own}, edit: func(r *Report) { r.Continuous = true },
		},
		"none on nodes": {
			recorded: map[string]v1alpha1.GroupPass{"db": own}, edit: func(r *Report) { r.PerNode = true },
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			r := Report{UID: "own", Groups: []Group{{Title: "DB", Hash: "db"}, {Title: "App", Hash: "app"}}}
			if test.edit != nil {
				test.edit(&r)
			}
			ps := &v1alpha1.PodSequence{}
			ps.UID, ps.Status.Passes = "own", test.recorded
			assert.Equal(t, test.want, r.Status(ps, at.Add(time.Minute)).Passes)
		})
	}
}
