package sequentialjob

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/test/harness/conditions"
)

// The reasons are what users have YAML and scripts for.
func TestConditions(t *testing.T) {
	for name, tc := range map[string]struct {
		world *worldWrapper
		want  map[string]string
	}{
		"the first step runs": {world: makeWorld(2).at(0).job(0), want: map[string]string{
			"Complete": "False StepsRemaining", "Available": "False StepsRemaining", "Progressing": "True JobStarted",
			"Failed": "False AsExpected", "Suspended": "False AsExpected",
			"Ready": "False StepsRemaining", "Reconciling": "True JobStarted",
		}},
		"a later step runs": {world: makeWorld(2).at(1).job(1), want: map[string]string{
			"Complete": "False StepsRemaining", "Available": "False StepsRemaining", "Progressing": "True JobCompleted",
			"Failed": "False AsExpected", "Suspended": "False AsExpected",
			"Ready": "False StepsRemaining", "Reconciling": "True JobCompleted",
		}},
		"all steps are completed": {world: makeWorld(1).at(0).job(0, complete), want: map[string]string{
			"Complete": "True CompletionsReached", "Available": "True Completed", "Progressing": "False Completed",
			"Failed": "False AsExpected", "Suspended": "False AsExpected",
			"Ready": "True Completed",
		}},
		"a step has failed": {world: makeWorld(1).at(0).job(0, failedFor("BackoffLimitExceeded")), want: map[string]string{
			"Complete": "False JobFailed", "Available": "False JobFailed", "Progressing": "False JobFailed",
			"Failed": "True JobFailed", "Suspended": "False AsExpected",
			"Ready": "False JobFailed", "Stalled": "True JobFailed",
		}},
		"it is suspended": {world: makeWorld(1).at(0).job(0, suspendedByUs).spec(suspend), want: map[string]string{
			"Complete": "False StepsRemaining", "Available": "False StepsRemaining", "Progressing": "False Suspended",
			"Failed": "False AsExpected", "Suspended": "True Suspended",
			"Ready": "False StepsRemaining",
		}},
		"a queue holds a step": {world: makeWorld(1).job(0, createdSuspended), want: map[string]string{
			"Complete": "False StepsRemaining", "Available": "False StepsRemaining", "Progressing": "False JobSuspended",
			"Failed": "False AsExpected", "Suspended": "False AsExpected",
			"Ready": "False StepsRemaining",
		}},
		"a step has to stop": {world: makeWorld(1).at(0).job(0, stopped, active).spec(deadline(9)), want: map[string]string{
			"Complete": "False StepsRemaining", "Available": "False StepsRemaining", "Progressing": "False DeadlineExceeded",
			"Failed": "False AsExpected", "Suspended": "False AsExpected",
			"Ready": "False StepsRemaining",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			status := decide(tc.world.world).status
			conditions.Check(t, conditions.OfSequentialJobs, status.Conditions)
			for _, c := range status.Conditions {
				got[c.Type] = string(c.Status) + " " + c.Reason
			}
			assert.Equal(t, tc.want, got)
		})
	}
}
