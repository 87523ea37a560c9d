package deploymentcoordination

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// A controller whose own clock is ahead is not ready, and works: it does not take a rollout for late.
func TestAControllerWhoseClockIsAhead(t *testing.T) {
	bin, err := controlplane.FindBin()
	require.NoError(t, err)
	s := newStory(t)
	s.rolledOut(s.coordination("shop", timeout(300, v1.TimeoutSkip)), "a", "b")
	s.update("a", image("2", "never"))
	s.update("b", image("2", "0s"))
	s.awaitUnpaused("a")
	s.fence()
	ahead := cluster.TenMinutesAhead(t, controlplane.PodSequenceController)
	soon, cancel := context.WithTimeout(s.Ctx, 10*time.Second)
	defer cancel()
	assert.Error(t, shared.Replace(soon, controlplane.PodSequenceController, ahead), "it does not get ready")
	s.fence()
	assert.True(t, s.get("b").Spec.Paused)
	assert.Empty(t, s.status("shop").DeploymentStates[0].Skipped)
	require.NoError(t, shared.Replace(s.Ctx, controlplane.PodSequenceController, bin))
	s.update("a", image("3", "0s"))
	s.awaitReady("shop")
	s.awaitComplete("a", "b")
}
