package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// A scheduler whose own clock is ahead ends no wait early, and lets no timeout pass a group, though it starts in the middle of both.
func TestASchedulerWhoseClockIsAhead(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := startCluster(t, controlplane.Options{})
	s := newStoryIn(t, env)
	s.Create(
		s.sequence("waits").Group(waiting("15s", "db")).Pods("Application", "app").Obj(),
		s.sequence("times-out").Pods("Late", "late").Timeout("5m", v1alpha1.TimeoutContinue).Pods("Web", "web").Obj(),
	)
	s.createPods(s.pod("db"), s.pod("app"), s.pod("late"), s.pod("web"))
	s.awaitBound("db", "late")
	require.NoError(t, env.Replace(s.Ctx, controlplane.PodSequenceScheduler, tenMinutesAhead(t)))
	s.makeReady("db")
	s.awaitBound("app")
	assert.False(t, s.placedAt("app").Before(overAt(s.readyAt("db"), 15*time.Second)), "the wait was cut short")
	s.expectHeld("web")
	log, err := os.ReadFile(env.Log(controlplane.PodSequenceScheduler))
	require.NoError(t, err)
	assert.Contains(t, string(log), "ahead of the API server's")
}

// tenMinutesAhead is a directory with a scheduler whose own clock is ten minutes ahead.
func tenMinutesAhead(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "own.go"), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, []byte(`package servertime

import (
	"time"

	"k8s.io/utils/clock"
)

type ahead struct{ clock.RealClock }

func (ahead) Now() time.Time { return time.Now().Add(10 * time.Minute) }

func ownClock() clock.WithTicker { return ahead{} }
`), 0o600))
	content, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, "pkg/servertime/own.go"): file}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, content, 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", filepath.Join(dir, controlplane.PodSequenceScheduler), "./cmd/scheduler")
	build.Dir = root
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return dir
}
