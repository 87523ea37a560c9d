package integration

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// A scheduler whose own clock is ahead ends no wait early, and lets no timeout pass a group, though it starts in the middle of both.
func TestASchedulerWhoseClockIsAhead(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := exclusively(t)
	s := newStoryIn(t, env)
	s.Create(
		s.sequence("waits").Group(waiting("15s", "db")).Pods("Application", "app").Obj(),
		s.sequence("times-out").Pods("Late", "late").Timeout("5m", v1alpha1.TimeoutContinue).Pods("Web", "web").Obj(),
	)
	s.createPods(s.pod("db"), s.pod("app"), s.pod("late"), s.pod("web"))
	s.awaitBound("db", "late")
	ahead := cluster.TenMinutesAhead(t, controlplane.PodSequenceScheduler)
	t.Cleanup(func() {
		assert.NoError(t, env.Replace(context.Background(), controlplane.PodSequenceScheduler, thisRelease(t).bin))
	})
	require.NoError(t, env.Replace(s.Ctx, controlplane.PodSequenceScheduler, ahead))
	s.makeReady("db")
	s.awaitBound("app")
	assert.False(t, s.placedAt("app").Before(overAt(s.readyAt("db"), 15*time.Second)), "the wait was cut short")
	s.expectHeld("web")
	log, err := os.ReadFile(env.Log(controlplane.PodSequenceScheduler))
	require.NoError(t, err)
	assert.Contains(t, string(log), "ahead of the API server's")
}
