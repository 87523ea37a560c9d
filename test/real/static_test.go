package real

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/sandbox/containerlogs"
)

func TestPodsWaitForAStaticPodButNobodyHoldsOne(t *testing.T) {
	s := newStory(t)
	s.Create(
		s.sequence("node").Label("Static", app, "static").Label("Application", app, "web").Label("Last", app, "last").Obj(),
		s.deployment("web", 2, probed(workload("serve"))),
	)
	s.awaitHeld("web-", 2)
	s.runStatic(s.pod("last", probed(workload("serve"))))
	s.awaitReady("last-"+nodes[0], 1)
	s.fence("later")
	s.expectSilent("web-")

	s.runStatic(s.pod("static", probed(workload("-ready-after", "3s", "serve"))))
	s.awaitPhase("node", v1alpha1.PhaseCompleted)
	s.expectOrder("static-", "web-")
	assert.Len(t, s.said().Where(containerlogs.Of("last-"), containerlogs.Saying(containerlogs.Started)), 1)
}

// runStatic makes the kubelet of the first node run a static pod until the story ends. Its name ends with that of the node.
func (s *story) runStatic(pod *corev1.Pod) {
	s.Helper()
	pod.APIVersion, pod.Kind = "v1", "Pod"
	pod.Spec.SchedulerName = ""
	content, err := yaml.Marshal(pod)
	require.NoError(s, err)
	file := filepath.Join(shared.Dir, "real-nodes", nodes[0], "manifests", s.Namespace+"-"+pod.Name+".yaml")
	require.NoError(s, os.WriteFile(file, content, 0o600))
	s.Cleanup(func() { assert.NoError(s, os.Remove(file)) })
}
