package deploymentcoordination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/test/harness/health"
)

func TestWhatToolsSayOfACoordination(t *testing.T) {
	waitingB := record(deployment("b", changed), pending(long), onHold)
	rollingA := record(deployment("a", changed), pending(long), started(0))
	skippedB := record(deployment("b", changed), pending(long), onHold, skipped)
	for name, tc := range map[string]struct {
		in   Input
		want health.Health
	}{
		"nothing matches": {Input{Coordination: coordination("")}, health.Current},
		"all rolled out":  {Input{Coordination: coordination(""), Members: []Member{deployment("a")}}, health.Current},
		"overlapping, and all rolled out": {
			Input{Coordination: coordination(""), Overlapping: []string{"other"}, Members: []Member{deployment("a")}}, health.Current,
		},
		"one rolls out": {
			Input{Coordination: coordination("a", rollingA, waitingB), Members: []Member{deployment("a", rolling), deployment("b", changed, held)}},
			health.InProgress,
		},
		"one rolls out after another was skipped": {
			Input{Coordination: coordination("a", rollingA, skippedB), Members: []Member{deployment("a", rolling), deployment("b", changed, held)}},
			health.InProgress,
		},
		"it is the turn of an overlapping one": {
			Input{Coordination: coordination("", waitingB), Overlapping: []string{"other"}, Busy: "shop/c", Members: []Member{deployment("b", changed, held)}},
			health.InProgress,
		},
		"halted": {
			Input{Coordination: coordination("a", record(deployment("a", changed), pending(long), started(-time.Minute))),
				Members: []Member{deployment("a", rolling, progress(deadlineExceeded, 0))}},
			health.Failed,
		},
		"all that is left was skipped": {
			Input{Coordination: coordination("", skippedB), Members: []Member{deployment("b", changed, held)}}, health.Failed,
		},
		"paused by its owner with changes": {
			Input{Coordination: coordination(""), Members: []Member{deployment("b", changed, pausedByItsOwner)}}, health.Failed,
		},
		"unpaused by somebody while it is another one's turn": {
			Input{Coordination: coordination("a", rollingA, waitingB), Members: []Member{deployment("a", rolling), deployment("b", rolling)}},
			health.InProgress,
		},
		"held by a PodSequence for a while": {
			Input{Coordination: coordination("a", rollingA), Members: []Member{deployment("a", rolling, bySequence())}}, health.InProgress,
		},
		"held by a PodSequence that needs what waits for this turn": {
			Input{Coordination: coordination("a", rollingA, waitingB),
				Members: []Member{deployment("a", rolling, bySequence("b")), deployment("b", changed, held, bySequence("b"))}},
			health.Failed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.in.Now = noon
			c := tc.in.Coordination.DeepCopy()
			c.Status = Decide(tc.in).Status
			health.Check(t, tc.want, c)
			reconciling := meta.IsStatusConditionTrue(c.Status.Conditions, v1.ConditionReconciling)
			stalled := meta.IsStatusConditionTrue(c.Status.Conditions, v1.ConditionStalled)
			assert.Equal(t, tc.want != health.Current, reconciling != stalled, "exactly one of Reconciling and Stalled, unless it is ready")

			c.Generation++
			health.Check(t, health.InProgress, c)
			c.DeletionTimestamp = at(0)
			assert.Equal(t, "Terminating", health.Of(t, c).Kstatus.String())
		})
	}
}
