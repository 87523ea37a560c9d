package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Each write of a status is an event, after which the status is worked out anew. One that differs by the time that has passed would be
// written again and again.
func TestTimeAloneChangesNoDryRun(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	status := func(before *v1alpha1.PodSequence, after time.Duration, pods ...string) v1alpha1.PodSequenceStatus {
		r := Report{DryRun: &DryRun{Pods: pods, Total: 2, Longest: after}}
		return r.Status(before, begin.Add(after))
	}
	ps := &v1alpha1.PodSequence{}
	ps.Status = status(ps, time.Second, "app", "web")
	assert.EqualValues(t, 1, ps.Status.DryRun.LongestSeconds)
	assert.Equal(t, ps.Status, status(ps, 7*time.Second, "app", "web"))

	changed := status(ps, 7*time.Second, "web")
	assert.EqualValues(t, 7, changed.DryRun.LongestSeconds)
}
