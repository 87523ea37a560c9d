package integration

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/podsequence/internal/controlplane"
)

func TestSchedulerKilledInTheMiddle(t *testing.T) {
	s := newStory(t)
	s.create(s.threeTiers().Obj())
	s.createPods(s.pod("db"), s.gated("app"), s.pod("web"))
	s.awaitBound("db")

	require.NoError(t, s.cluster.Kill(s.ctx, controlplane.PodSequenceScheduler))
	s.makeReady("db") // nobody is there to see it
	require.NoError(t, s.cluster.StartComponent(s.ctx, controlplane.PodSequenceScheduler))
	s.awaitBound("app")
	s.expectHeld("web")

	require.NoError(t, s.cluster.Kill(s.ctx, controlplane.PodSequenceScheduler))
	require.NoError(t, s.cluster.StartComponent(s.ctx, controlplane.PodSequenceScheduler))
	s.expectHeld("web")
	s.makeReady("app")
	s.awaitBound("web")
}
