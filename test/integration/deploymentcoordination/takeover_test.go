package deploymentcoordination

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// kube-deployment-coordinator, of whose API ours is, pauses every Deployment that it matches and that does not roll out at
// the moment, and leaves no mark. The command is that of the documentation.
func TestTakeOverWhatAnotherOperatorLeft(t *testing.T) {
	s := newStory(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		s.Create(s.deployment(name))
		s.awaitComplete(name)
	}
	for _, name := range []string{"a", "b", "d"} {
		s.update(name, func(d *appsv1.Deployment) { d.Spec.Paused = true })
	}
	s.update("a", image("2", "0s"))
	s.update("b", image("2", "0s"))
	s.halfway("c")
	began := len(s.verdict().Rollouts)
	s.WhileControllerDown(func() {
		s.coordinate(s.coordination("shop"))
		s.leaveStatus("shop")
	})
	s.awaitActive("c")
	s.awaitCondition("shop", v1.ConditionDegraded, "True "+v1.ReasonPausedByOwner)

	s.kubectl("annotate", "deployments", "--namespace", s.Namespace, "--selector", "app=shop", "apps.containerinfra.nl/paused-by=shop")
	s.awaitUnpaused("d") // it has nothing to roll out
	s.fence()
	assert.True(t, s.get("a").Spec.Paused)
	assert.True(t, s.get("b").Spec.Paused)
	s.update("c", image("3", "0s"))
	s.awaitReady("shop")
	s.awaitUnpaused("a", "b", "c", "d")
	s.awaitComplete("a", "b", "c", "d")
	s.awaitCondition("shop", v1.ConditionDegraded, "False "+v1.ReasonAsExpected)
	var order []string
	for _, r := range s.after(began) {
		order = append(order, r.Deployment.Name)
	}
	assert.Equal(t, []string{"a", "b"}, order, "after c")
}

// leaveStatus writes a status as another operator does, which knows fewer fields.
func (s *story) leaveStatus(name string) {
	s.Helper()
	config := rest.CopyConfig(s.Cluster.Config())
	config.Impersonate.UserName = "system:serviceaccount:podsequence-system:" + controlplane.PodSequenceController // nobody else may
	c, err := client.New(config, client.Options{Scheme: cluster.Scheme})
	require.NoError(s, err)
	left := &unstructured.Unstructured{}
	left.SetGroupVersionKind(v1.GroupVersion.WithKind("DeploymentCoordination"))
	require.NoError(s, s.API.Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, left))
	left.Object["status"] = map[string]any{
		"activeDeployment": s.Namespace + "/c",
		"deployments":      []any{s.Namespace + "/a", s.Namespace + "/b", s.Namespace + "/c", s.Namespace + "/d"},
		"deploymentStates": []any{
			map[string]any{"name": s.Namespace + "/a", "hasPendingChanges": true, "generation": int64(2)},
			map[string]any{"name": s.Namespace + "/d", "generation": int64(1), "lastRolloutStarted": "2026-01-02T12:00:00Z"},
		},
	}
	require.NoError(s, c.Status().Update(s.Ctx, left))
}

// kubectl runs it as the cluster's administrator.
func (s *story) kubectl(args ...string) {
	s.Helper()
	s.Cluster.MustShell(s, "kubectl "+strings.Join(args, " "))
}
