package deploymentcoordination

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "example.com/podsequence/apis/apps/v1"
)

// The numbered steps of the page run in their order. In the first, nothing is left to remove: the objects are as the other operator leaves
// them, which pauses every Deployment that it matches and that does not roll out, leaves no mark, and allows objects without a spec.
func TestTheGuideFromKubeDeploymentCoordinator(t *testing.T) {
	steps := stepsOf(t, "../../../docs/migrate/kube-deployment-coordinator.md")
	require.Len(t, steps, 5)
	s := newStory(t)
	run := func(step string) {
		s.Helper()
		for _, command := range regexp.MustCompile("(?s)```sh example\n(.*?)```").FindAllStringSubmatch(step, -1) {
			s.Cluster.MustShell(s, strings.NewReplacer("NAMESPACE", s.Namespace, "SELECTOR", "app=shop", "COORDINATION", "shop").Replace(command[1]))
		}
	}
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
		restore := s.AllowAnything("deploymentcoordinations.apps.containerinfra.nl", s.stored("refused", `{spec: {}}`))
		s.AwaitCreated(s.stored("deploymentcoordination-sample", `{metadata: {labels: {app.kubernetes.io/managed-by: kustomize}}}`))
		s.AwaitCreated(s.stored("shop", `{spec: {labelSelector: {matchLabels: {app: shop}}}}`))
		s.leaveStatus("shop")
		run(steps[0])
		restore()
		run(steps[1])
	})
	s.awaitActive("c")
	s.awaitCondition("shop", v1.ConditionDegraded, "True "+v1.ReasonPausedByOwner)
	degraded := meta.FindStatusCondition(s.status("shop").Conditions, v1.ConditionDegraded)
	assert.Contains(t, degraded.Message, s.Namespace+"/a, "+s.Namespace+"/b")
	assert.Contains(t, degraded.Message, "kubectl annotate deployments --namespace "+s.Namespace+" apps.containerinfra.nl/paused-by=shop NAME...")

	s.awaitCondition("deploymentcoordination-sample", v1.ConditionDegraded, "True "+v1.ReasonInvalidSelector)
	run(steps[2])
	run(steps[3])
	s.awaitUnpaused("d") // it has nothing to roll out
	s.fence()
	assert.True(t, s.get("a").Spec.Paused)
	assert.True(t, s.get("b").Spec.Paused)
	s.update("c", image("3", "0s")) // which ends its rollout
	s.awaitReady("shop")
	s.awaitUnpaused("a", "b", "c", "d")
	var order []string
	for _, r := range s.after(began) {
		order = append(order, r.Deployment.Name)
	}
	assert.Equal(t, []string{"a", "b"}, order, "after c")

	shown, err := s.Cluster.Shell(t, regexp.MustCompile("`(kubectl get [^`]*)`").FindStringSubmatch(steps[4])[1])
	require.NoError(t, err)
	assert.Regexp(t, s.Namespace+` +shop +True +False`, shown)
	assert.NotContains(t, shown, "deploymentcoordination-sample")
}

// stepsOf are the numbered steps of a page.
func stepsOf(t *testing.T, page string) (steps []string) {
	t.Helper()
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	_, section, found := strings.Cut(string(content), "\n## Step by step\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	for _, line := range strings.SplitAfter(section, "\n") {
		if regexp.MustCompile(`^\d+\. `).MatchString(line) {
			steps = append(steps, "")
		}
		if len(steps) > 0 {
			steps[len(steps)-1] += strings.TrimPrefix(line, "   ")
		}
	}
	return steps
}
