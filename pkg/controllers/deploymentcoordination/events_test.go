package deploymentcoordination

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	v1 "example.com/podsequence/apis/apps/v1"
)

func TestEventsFor(t *testing.T) {
	status := func(active string, states ...v1.DeploymentState) v1.DeploymentCoordinationStatus {
		return coordination(active, states...).Status
	}
	degraded := func(reason string, states ...v1.DeploymentState) v1.DeploymentCoordinationStatus {
		s := status("", states...)
		s.Conditions = []metav1.Condition{{Type: v1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason}}
		return s
	}
	a, changedA := record(deployment("a")), record(deployment("a", changed), pending(0))
	heldA, skippedA := record(deployment("a", changed), pending(0), onHold), record(deployment("a", changed), pending(0), onHold, skipped)
	for name, tc := range map[string]struct {
		before, after v1.DeploymentCoordinationStatus
		want          []string
	}{
		"nothing new":                          {before: status("a", changedA), after: status("a", changedA)},
		"paused":                               {before: status("", a), after: status("", heldA), want: []string{"DeploymentPaused"}},
		"paused for the first time it is seen": {before: status(""), after: status("", heldA), want: []string{"DeploymentPaused"}},
		"its turn":                             {before: status("", heldA), after: status("a", changedA), want: []string{"DeploymentActivated"}},
		"ready, and no other":                  {before: status("a", changedA), after: status("", a), want: []string{"ActiveDeploymentReady", "ActiveDeploymentCleared"}},
		"ready, and the next":                  {before: status("a", changedA), after: status("b", a), want: []string{"ActiveDeploymentReady", "ActiveDeploymentChanged", "DeploymentActivated"}},
		"deleted, and the next":                {before: status("a", changedA), after: status("b"), want: []string{"ActiveDeploymentChanged", "DeploymentActivated"}},
		"paused where it is, and the next":     {before: status("a", changedA), after: status("b", heldA), want: []string{"DeploymentPaused", "ActiveDeploymentChanged", "DeploymentActivated"}},
		"skipped, and the next":                {before: status("a", changedA), after: status("b", skippedA), want: []string{"RolloutTimedOut", "ActiveDeploymentChanged", "DeploymentActivated"}},
		"skipped, and no other":                {before: degraded("AsExpected", changedA), after: degraded("RolloutTimedOut", skippedA), want: []string{"RolloutTimedOut"}},
		"the second that is skipped": {
			before: degraded("RolloutTimedOut", skippedA, record(deployment("b", changed), pending(0))),
			after:  degraded("RolloutTimedOut", skippedA, record(deployment("b", changed), pending(0), onHold, skipped)),
			want:   []string{"RolloutTimedOut"},
		},
		"skipped, and changed: it waits for its turn": {before: status("", skippedA), after: status("", heldA), want: []string{"DeploymentPaused"}},
		"held, and the next": {
			before: status("a", changedA), after: status("b", record(deployment("a", changed), pending(0), onHold, heldByOrder)),
			want: []string{"DeploymentPaused", "HeldByPodSequence", "ActiveDeploymentChanged", "DeploymentActivated"},
		},
		"held, and no other": {before: status("a", changedA), after: status("", record(deployment("a", changed), pending(0), heldByOrder)), want: []string{"ActiveDeploymentCleared"}},
		"held and skipped, and the next": {
			before: status("a", changedA), after: status("b", record(deployment("a", changed), pending(0), onHold, heldByOrder, skipped)),
			want: []string{"RolloutTimedOut", "ActiveDeploymentChanged", "DeploymentActivated"},
		},
		"unpaused by somebody": {before: status("", heldA), after: status("", record(deployment("a", changed), resumed)), want: []string{"PauseReverted"}},
		"and once more":        {before: status("", record(deployment("a", changed), resumed)), after: status("", record(deployment("a", changed), resumed))},
		"halted":               {before: degraded("OverlappingCoordination"), after: degraded("RolloutTimedOut"), want: []string{"RolloutTimedOut"}},
		"degraded by a revert, which is reported already": {before: status(""), after: degraded("PauseReverted")},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range eventsFor(tc.before, Decision{Status: tc.after}) {
				got = append(got, e.reason)
				assert.NotEmpty(t, e.action)
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

// The API server does not accept notes of more than 1024 bytes.
func TestLongNotesAreCut(t *testing.T) {
	recorder := events.NewFakeRecorder(2)
	r := &reconciler{recorder: recorder}
	long := strings.Repeat("ä", 1024)
	r.send(coordination(""), nil, event{kind: "Warning", reason: "OverlappingCoordination", note: long})
	r.send(coordination(""), deployment("a").Deployment, event{kind: "Warning", reason: "OverlappingCoordination", note: long})
	for range 2 {
		_, note, _ := strings.Cut(<-recorder.Events, " ")
		_, note, _ = strings.Cut(note, " ")
		assert.LessOrEqual(t, len(note), 1024)
		assert.True(t, strings.HasSuffix(note, "ä..."), note)
	}
}
