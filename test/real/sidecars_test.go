package real

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/containerlogs"
)

func TestAPodIsReadyOnlyWithItsSidecars(t *testing.T) {
	s := newStory(t)
	s.Create(
		s.sequence("ready").Label("Database", app, "slow").Label("Application", app, "after-slow").Obj(),
		s.sequence("crashing").Label("Database", app, "crashing").Label("Application", app, "after-crashing").Obj(),
		s.deployment("after-slow", 1, probed(workload("serve"))), s.deployment("after-crashing", 1, probed(workload("serve"))),
		s.withSidecar("slow", "-ready-after", "5s", "-port", "8081", "serve"),
		s.withSidecar("crashing", "-code", "1", "exit"),
	)
	s.awaitReady("after-slow-", 1)
	for _, container := range []string{"main", "sidecar"} {
		slow := s.said().Where(of("slow-", container))
		s.expectLinesInOrder(slow, s.said().Where(containerlogs.Of("after-slow-")))
	}

	const crashes = 3
	s.awaitSaid(crashes, of("crashing-", "sidecar"), containerlogs.Saying(containerlogs.Exit))
	s.awaitSaid(1, of("crashing-", "main"), containerlogs.Saying(containerlogs.Ready))
	s.fence("sidecars")
	s.expectSilent("after-crashing-")
}

func TestAnEphemeralContainerChangesNothingInTheOrder(t *testing.T) {
	s := newStory(t)
	s.Create(
		s.sequence("shop").Mode(v1alpha1.Continuous).Label("Database", app, "db").Label("Application", app, "web").Obj(),
		s.deployment("db", 1, probed(workload("serve"))), s.deployment("web", 1, probed(workload("serve"))),
	)
	db := s.awaitReady("db-", 1)[0]
	s.awaitReady("web-", 1)
	s.kubectl("debug", db.Name, "--image="+image, "--container=look", "--profile=general", "--", "/workload", "-code", "1", "exit")
	s.awaitSaid(1, of("db-", "look"), containerlogs.Saying(containerlogs.Exit))
	s.Await("the API to say how the ephemeral container ended", func() bool {
		status := cluster.Get(s.Story, &corev1.Pod{}, db.Name).Status.EphemeralContainerStatuses
		return len(status) == 1 && status[0].State.Terminated != nil && status[0].State.Terminated.ExitCode == 1
	})
	assert.True(s, cluster.IsReady(cluster.Get(s.Story, &corev1.Pod{}, db.Name)))
	s.kubectl("scale", "deployment", "web", "--replicas=2")
	s.awaitReady("web-", 2)
	s.awaitPhase("shop", v1alpha1.PhaseCompleted)
}

// withSidecar begins a Deployment whose pod has a sidecar with these arguments. Both containers have a readiness probe.
func (s *story) withSidecar(name string, args ...string) *appsv1.Deployment {
	sidecar := probed(workload(args...))
	sidecar.Name, sidecar.RestartPolicy = "sidecar", new(corev1.ContainerRestartPolicyAlways)
	sidecar.ReadinessProbe.HTTPGet.Port = intstr.FromInt32(8081)
	d := s.deployment(name, 1, probed(workload("serve")))
	d.Spec.Template.Spec.InitContainers = []corev1.Container{sidecar}
	return d
}
