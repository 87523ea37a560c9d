package deploymentcoordination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/podsequence/test/harness/conditions"
)

func TestConditions(t *testing.T) {
	waitingB := record(deployment("b", changed), pending(long), onHold)
	for name, tc := range map[string]struct {
		in   Input
		want map[string]string // type to status and reason
	}{
		"all rolled out": {
			in:   Input{Coordination: coordination(""), Members: []Member{deployment("a")}},
			want: map[string]string{"Ready": "True RolledOut", "Progressing": "False RolledOut", "Degraded": "False AsExpected"},
		},
		"one rolls out": {
			in: Input{Coordination: coordination("a", record(deployment("a", changed), pending(long), started(0)), waitingB),
				Members: []Member{deployment("a", rolling), deployment("b", changed, held)}},
			want: map[string]string{"Ready": "False DeploymentsInProgress", "Progressing": "True DeploymentRollingOut", "Degraded": "False AsExpected"},
		},
		"one has rolled out but is not ready for long enough": {
			in: func() Input {
				c := coordination("a", record(deployment("a", changed), started(0), finished(0)))
				c.Spec.MinReadySeconds = 5
				return Input{Coordination: c, Members: []Member{deployment("a", rolled)}, ReadySince: new(noon)}
			}(),
			want: map[string]string{"Ready": "False DeploymentsInProgress", "Progressing": "True DeploymentRollingOut", "Degraded": "False AsExpected"},
		},
		"halted": {
			in: Input{Coordination: coordination("a", record(deployment("a", changed), pending(long), started(-time.Minute))),
				Members: []Member{deployment("a", rolling, progress(deadlineExceeded, 0))}},
			want: map[string]string{"Ready": "False DeploymentsInProgress", "Progressing": "False ProgressDeadlineExceeded", "Degraded": "True ProgressDeadlineExceeded"},
		},
		"overlapping": {
			in:   Input{Coordination: coordination(""), Overlapping: []string{"other"}, Members: []Member{deployment("a")}},
			want: map[string]string{"Ready": "True RolledOut", "Progressing": "False RolledOut", "Degraded": "True OverlappingCoordination"},
		},
		"taken out by its owner": {
			in:   Input{Coordination: coordination("", waitingB), Members: []Member{deployment("b", rolling, takenOut)}},
			want: map[string]string{"Ready": "False DeploymentsInProgress", "Progressing": "True DeploymentRollingOut", "Degraded": "False AsExpected"},
		},
		"unpaused by somebody while it is another one's turn": {
			in: Input{Coordination: coordination("a", record(deployment("a", changed), pending(long), started(0)), waitingB),
				Members: []Member{deployment("a", rolling), deployment("b", rolling)}},
			want: map[string]string{"Ready": "False DeploymentsInProgress", "Progressing": "True DeploymentRollingOut", "Degraded": "False AsExpected"},
		},
		"taken out by its owner while it is another one's turn": {
			in: Input{Coordination: coordination("a", record(deployment("a", changed), pending(long), started(0)), waitingB),
				Members: []Member{deployment("a", rolling), deployment("b", rolling, takenOut)}},
			want: map[string]string{"Ready": "False DeploymentsInProgress", "Progressing": "True DeploymentRollingOut", "Degraded": "True PauseReverted"},
		},
		"paused by its owner with changes": {
			in:   Input{Coordination: coordination(""), Members: []Member{deployment("b", changed, pausedByItsOwner)}},
			want: map[string]string{"Ready": "False DeploymentsInProgress", "Progressing": "False Waiting", "Degraded": "True PausedByOwner"},
		},
		"paused by its owner without changes": {
			in:   Input{Coordination: coordination(""), Members: []Member{deployment("b", pausedByItsOwner)}},
			want: map[string]string{"Ready": "True RolledOut", "Progressing": "False RolledOut", "Degraded": "False AsExpected"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.in.Now = noon
			status := Decide(tc.in).Status
			conditions.Check(t, conditions.OfCoordinations, status.Conditions)
			for kind, want := range tc.want {
				condition := meta.FindStatusCondition(status.Conditions, kind)
				require.NotNil(t, condition, kind)
				assert.Equal(t, want, string(condition.Status)+" "+condition.Reason, kind)
				assert.Equal(t, int64(1), condition.ObservedGeneration)
			}
		})
	}
}
