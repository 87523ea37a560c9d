package real

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/test/harness/book"
	"example.com/podsequence/tools/sandbox/containerlogs"
)

// recreateLabel is on pods that are deleted when their node boots, as docs/howto/node-driver.md says.
const recreateLabel = "example.com/recreate-after-reboot"

func TestARebootHoldsNewPodsUntilTheDriverIsReadyAnew(t *testing.T) {
	s := newStory(t)
	s.driverAndApplication()
	s.node("crash", nodes[0])
	t.Cleanup(func() { s.awaitNode(nodes[0], true) })
	booted := time.Now()
	s.node("start", nodes[0])
	s.awaitNotReadyOn(nodes[0], "driver-") // until kubelet reports that, the node counts as it did
	s.Create(s.needs("driver", "new"))
	s.awaitHeld("new-", 1)
	// Nobody promises anything about those that were bound.
	s.awaitSaid(1, containerlogs.Since(booted), containerlogs.Of("old-"), containerlogs.Saying(containerlogs.Started))
	s.fence("rebooted")
	s.expectSilent("new-")

	s.openContainer("driver-")
	s.awaitReady("new-", 1)
	since := s.said().Where(containerlogs.Since(booted))
	s.expectLinesInOrder(since.Where(containerlogs.Of("driver-"), notStopped), since.Where(containerlogs.Of("new-")))
}

func TestARebootInOrderIfDependentsAreDeletedBeforeKubeletStarts(t *testing.T) {
	s := newStory(t)
	s.driverAndApplication()
	s.recreateAfterReboot(nodes[0])
	s.node("crash", nodes[0])
	t.Cleanup(func() { s.awaitNode(nodes[0], true) })
	booted := time.Now()
	s.node("start", nodes[0])
	s.awaitHeld("old-", 1)
	s.fence("rebooted")
	assert.Empty(s, s.said().Where(containerlogs.Since(booted), containerlogs.Of("old-"), containerlogs.Saying(containerlogs.Started)).String(),
		"the application started before its driver")

	s.openContainer("driver-")
	s.awaitSaid(1, containerlogs.Since(booted), containerlogs.Of("old-"), containerlogs.Saying(containerlogs.Ready))
	since := s.said().Where(containerlogs.Since(booted))
	s.expectLinesInOrder(since.Where(containerlogs.Of("driver-"), notStopped), since.Where(containerlogs.Of("old-"), notStopped))
}

// driverAndApplication starts a driver, which is ready once the story opens its container, and an application that needs it, on the
// first node.
func (s *story) driverAndApplication() {
	s.Helper()
	driver := s.daemonSet("driver", probed(workload("-closed", "serve")))
	driver.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: nodes[0]}
	old := s.needs("driver", "old")
	old.Spec.Template.Labels[recreateLabel] = "true"
	s.Create(s.sequence("node").NodeScope().Label("Driver", app, "driver").Label("Application", "needs", "driver").Obj(), driver, old)
	s.openContainer("driver-")
	s.awaitReady("old-", 1)
	s.expectOrder("driver-", "old-")
}

// recreateAfterReboot makes the node run the program of the how-to before its kubelet.
func (s *story) recreateAfterReboot(node string) {
	s.Helper()
	const page = "../../docs/howto/node-driver.md"
	text, err := os.ReadFile(page)
	require.NoError(s, err)
	parsed, err := book.Parse(page, string(text))
	require.NoError(s, err)
	for _, block := range parsed.Blocks {
		if name := block.SaveAs(); name == "recreate-after-reboot" {
			dir := filepath.Join(shared.Dir, "real-nodes", node, "before-kubelet.d")
			require.NoError(s, os.MkdirAll(dir, 0o755))
			s.Cleanup(func() { assert.NoError(s, os.RemoveAll(dir)) })
			require.NoError(s, os.WriteFile(filepath.Join(dir, name), []byte(block.Text), 0o755))
			return
		}
	}
	require.Fail(s, "the how-to does not have the program")
}
