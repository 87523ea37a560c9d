package kubectl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/pkg/sequence/report"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// The programs run outside of the cluster here, so their leases say whether they do.
func TestCheck(t *testing.T) {
	t.Parallel()
	c := cluster.Own(t, controlplane.Options{Nodes: 1, LeaderElection: true})
	s := &story{cluster.NewStory(t, c).Person("view")}
	admin := &story{&cluster.Person{Story: s.Story, Kubeconfig: c.Kubeconfig()}}

	t.Run("all is well", func(t *testing.T) {
		stdout := admin.awaitChecked(t, true, "scheduler lease    OK ", "controller lease   OK ", "policies           OK ")
		assert.Contains(t, stdout, "DeploymentCoordination v1")
		assert.Contains(t, stdout, "Deployment podsequence-system/podsequence-scheduler has no replicas: it runs outside of the cluster")
		assert.Contains(t, stdout, ", with their bindings")
		assert.NotContains(t, stdout, "\x1b", "colours are for terminals")
	})
	t.Run("who may only look in one namespace sees that, and what to ask for", func(t *testing.T) {
		s.Create(MakeSequence(s.Namespace, "backend").Pods("Database", "db").Pods("Application", "app").Obj(), s.pod("app", "app"))
		s.Await("app to be told what it waits for", func() bool { return report.TellsWait(cluster.Get(s.Story, &corev1.Pod{}, "app")) })
		stdout := s.awaitChecked(t, true, "programs           Unknown ", "1 in namespace "+s.Namespace+", none of them degraded")
		assert.Contains(t, stdout, "> ask for the role view in namespace podsequence-system")
		assert.Contains(t, stdout, "kubectl podseq why app -n "+s.Namespace)
		assert.Contains(t, stdout, "; not: suspend and skip, release")
	})
	t.Run("nobody renews the lease of the scheduler", func(t *testing.T) {
		admin.WhileDown(controlplane.PodSequenceScheduler, func() {
			stdout := admin.awaitChecked(t, false, "scheduler lease    Wrong ", "controller lease   OK ")
			assert.Contains(t, stdout, "is down or cannot reach the API server")
		})
		admin.awaitChecked(t, true, "scheduler lease    OK ")
	})
	t.Run("the kind is gone", func(t *testing.T) {
		admin.Delete(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "podsequences.scheduling.example.com"}})
		stdout := admin.awaitChecked(t, false, "PodSequence is not installed in this cluster")
		assert.Contains(t, stdout, "> install PodSequence: ")
	})
}

// awaitChecked waits until the check says all of this, and passes or not.
func (s *story) awaitChecked(t *testing.T, passes bool, want ...string) (stdout string) {
	t.Helper()
	cluster.Eventually(t, "the check to say what it must", func() error {
		var err error
		var stderr string
		stdout, stderr, err = s.Podseq("check", "-n", s.Namespace)
		for _, text := range want {
			if !strings.Contains(stdout, text) {
				return fmt.Errorf("%q is not in\n%s%s", text, stdout, stderr)
			}
		}
		if passes != (err == nil) {
			return fmt.Errorf("it ended with %w:\n%s%s", err, stdout, stderr)
		}
		return nil
	})
	require.NotEmpty(t, stdout)
	return stdout
}
