package sequentialjob

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/health"
)

func TestWhatToolsSayOfASequentialJob(t *testing.T) {
	for name, tc := range map[string]struct {
		world *worldWrapper
		want  health.Health
	}{
		"the first step is started":       {makeWorld(2), health.InProgress},
		"a step runs":                     {makeWorld(2).at(0).job(0), health.InProgress},
		"a Job is refused for now":        {makeWorld(2).obstructed(obstacle{reason: v1alpha1.ReasonJobCreateFailed}), health.InProgress},
		"a queue holds a step":            {makeWorld(2).job(0, createdSuspended), health.InProgress},
		"a step has to stop":              {makeWorld(1).at(0).job(0, stopped, active).spec(deadline(9)), health.InProgress},
		"it is being suspended":           {makeWorld(1).at(0).job(0, suspendedByUs, podsEnd).spec(suspend), health.InProgress},
		"it is suspended":                 {makeWorld(1).at(0).job(0, suspendedByUs).spec(suspend), health.Suspended},
		"a step has failed":               {makeWorld(2).at(0).job(0, failedFor("BackoffLimitExceeded")), health.Failed},
		"its time is over":                {makeWorld(1).at(0).job(0, stopped, failedFor("DeadlineExceeded")).spec(deadline(9)), health.Failed},
		"somebody deleted a running Job":  {makeWorld(2).at(1), health.Failed},
		"its spec cannot be run":          {makeWorld(0), health.Failed},
		"it cannot be read":               {makeWorld(0).undecodable("what is this"), health.Failed},
		"all steps are completed":         {makeWorld(1).at(0).job(0, complete), health.Current},
		"completed, and suspended later":  {makeWorld(1).at(0).job(0, complete).spec(suspend), health.Current},
		"completed, its Jobs are cleaned": {makeWorld(1).at(1), health.Current},
	} {
		t.Run(name, func(t *testing.T) {
			object := tc.world.object
			object.Status = decide(tc.world.world).status
			health.Check(t, tc.want, object)
			object.Generation++
			health.Check(t, health.InProgress, object)
			object.DeletionTimestamp = seconds(0)
			assert.Equal(t, "Terminating", health.Of(t, object).Kstatus.String())
		})
	}
}
