package leaving

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// othersWait are the pods of the shop that wait for something that we have nothing to do with.
var othersWait = []string{"gated-by-others", "nowhere-to-go"}

// without returns what is in all but not in some.
func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(some, name) })
}

func TestTheDocumentedOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t, "default", controlplane.Options{})
	s.apply("rollouts.yaml", "steps.yaml", "shop.yaml", "held-by-scheduler.yaml")
	s.awaitEverything()
	s.awaitApplicationPods(12)

	undeployed := s.remove("undeploy")
	s.expectReleased()
	s.expectNotDeployed()
	s.expectStepsAsTheyWere()
	assert.Zero(t, s.finalizers())
	assert.Equal(t, []string{"running", "suspended"}, undeployed.column("NAMESPACE  SEQUENTIALJOB", 1))
	assert.Equal(t, without(s.pending(), othersWait), undeployed.column("NAMESPACE  POD", 1))
	assert.Equal(t, []string{"cronjob/nightly"}, undeployed.column("NAMESPACE  WORKLOAD", 1))
	s.expectNothingToDo("undeploy")

	for _, command := range undeployed.commands() {
		s.cluster.MustShell(s, command)
	}
	cluster.Await(s, "all pods to be scheduled", func() bool { return slices.Equal(s.pending(), othersWait) })
	cluster.Await(s, "the step to run again", func() bool { return s.activeJobs("suspended-0") })
	again := s.expectNothingToDo("undeploy")
	assert.Empty(t, again.commands(), "nothing is left to be told: %s", again)

	uninstalled := s.remove("uninstall")
	assert.Equal(t, []string{"running", "suspended"}, uninstalled.column("NAMESPACE  SEQUENTIALJOB", 1))
	s.expectNoKinds()
	s.expectReleased()
	s.expectNothingToDo("uninstall")
	s.expectPluginSaysSo()
}

// expectPluginSaysSo expects that kubectl podseq says that PodSequence is not installed, and does not say that a sequence does not exist.
func (s *site) expectPluginSaysSo() {
	s.Helper()
	for _, arguments := range []string{"get", "get shop", "tree", "tree shop", "timeline shop", "why podsequence/shop"} {
		output, err := s.plugin(arguments)
		assert.Error(s, err, arguments)
		assert.Contains(s, output, "error: PodSequence is not installed in this cluster", arguments)
	}
	output, err := s.plugin("why gated-by-others")
	assert.NoError(s, err, output)
	assert.Contains(s, output, "pod gated-by-others: ")
	assert.Contains(s, output, "note: PodSequence is not installed in this cluster")
}

// expectNothingToDo runs the program when there is nothing left to do.
func (s *site) expectNothingToDo(verb string) report {
	s.Helper()
	output := s.remove(verb)
	assert.True(s, strings.HasPrefix(string(output), "Nothing to do"), output)
	assert.Empty(s, output.changes())
	return output
}

// The programs run as pods, which the simulated nodes end.
func TestAfterTheControllerWasKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t, "lite", controlplane.Options{
		Installation: "lite",
		Components:   append(controlplane.UpstreamComponents(), controlplane.PodSequenceController),
		ExtraArgs:    map[string][]string{controlplane.PodSequenceController: {"--scheduler-names="}},
	})
	s.apply("rollouts.yaml", "steps.yaml", "shop.yaml", "held-by-gate.yaml", "held-by-label.yaml")
	s.awaitEverything()
	s.awaitApplicationPods(12)
	require.NoError(t, s.cluster.Kill(t.Context(), controlplane.PodSequenceController))
	s.cluster.MustShell(s, "kubectl delete deploymentcoordination -n rollouts middle over-1 --wait=false") // and nobody heeds it
	s.apply("former.yaml")
	s.cluster.MustShell(s, "kubectl delete podsequence -n shop former --wait=false")

	undeployed := s.remove("undeploy")
	s.expectReleased()
	s.expectNotDeployed()
	s.expectStepsAsTheyWere()
	assert.Zero(t, s.finalizers())
	assert.Contains(t, undeployed.changes(), "released  PodSequence shop/former")
	s.cluster.MustShell(t, "kubectl wait podsequence -n shop former --for=delete --timeout=2m")
	assert.Equal(t, without(s.pending(), othersWait), undeployed.column("NAMESPACE  POD", 1))
	assert.Equal(t, []string{"deployment/web"}, undeployed.column("NAMESPACE  WORKLOAD", 1))
	for _, command := range undeployed.commands() {
		s.cluster.MustShell(s, command)
	}
	cluster.Await(s, "all pods to be scheduled", func() bool { return slices.Equal(s.pending(), othersWait) })

	s.remove("uninstall")
	s.expectNoKinds()
	s.expectReleased()
}

// The templates say nothing of us, so that there is nothing to change in them: new pods belong to the cluster's own scheduler.
func TestPodsThatJoinedByTheLabelAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t, "default", controlplane.Options{})
	s.apply("shop.yaml", "held-by-label.yaml")
	s.awaitApplicationPods(9)

	undeployed := s.remove("undeploy")
	s.expectNotDeployed()
	assert.Equal(t, without(s.pending(), othersWait), undeployed.column("NAMESPACE  POD", 1))
	assert.Empty(t, undeployed.column("NAMESPACE  WORKLOAD", 1), "no template holds pods")
	for _, command := range undeployed.commands() {
		s.cluster.MustShell(s, command)
	}
	cluster.Await(s, "all pods to be scheduled", func() bool { return slices.Equal(s.pending(), othersWait) })
	assert.Empty(t, s.expectNothingToDo("undeploy").commands(), "nothing is left to be told")
}

func TestUninstallAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t, "default", controlplane.Options{})
	s.apply("rollouts.yaml", "steps.yaml", "shop.yaml", "held-by-scheduler.yaml")
	s.awaitEverything()
	s.awaitApplicationPods(12)

	t.Run("a finalizer of somebody else is named, and nothing hangs", func(t *testing.T) {
		s.cluster.MustShell(s, `kubectl patch deploymentcoordination -n rollouts empty --type=json -p '[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/mine"}]'`)
		output, err := s.tryToRemove("uninstall", "--timeout=1s")
		assert.Error(t, err)
		assert.Regexp(t, `Error: still there after \d+s: DeploymentCoordination rollouts/empty \(finalizers: example.com/mine\)`, string(output))
		s.cluster.MustShell(s, `kubectl patch deploymentcoordination -n rollouts empty --type=merge -p '{"metadata":{"finalizers":null}}'`)
	})
	t.Run("that of the controller before us is removed, while ours is down", func(t *testing.T) {
		require.NoError(t, s.cluster.Kill(t.Context(), controlplane.PodSequenceController))
		s.apply("former.yaml")
	})
	began := time.Now()
	uninstalled := s.remove("uninstall")
	t.Log("uninstalling took", time.Since(began))
	s.expectNoKinds()
	s.expectReleased()
	for _, command := range uninstalled.commands() {
		s.cluster.MustShell(s, command)
	}
	cluster.Await(s, "our scheduler to schedule its pods, as it is still there", func() bool { return slices.Equal(s.pending(), othersWait) })
	s.expectNothingToDo("uninstall")

	s.remove("undeploy")
	s.expectNothingToDo("undeploy")
	s.expectReleased()
}

func TestGitOpsToolsKeepTheKinds(t *testing.T) {
	kept := map[string]string{
		"argocd.argoproj.io/sync-options":   "Prune=false,Delete=false",
		"kustomize.toolkit.fluxcd.io/prune": "disabled",
		"helm.sh/resource-policy":           "keep",
	}
	for _, name := range []string{"crds", "default", "lite"} {
		t.Run(name, func(t *testing.T) {
			kinds := 0
			for _, resource := range render(t, name).Resources() {
				if resource.GetKind() != "CustomResourceDefinition" {
					continue
				}
				kinds++
				for annotation, value := range kept {
					assert.Equal(t, value, resource.GetAnnotations()[annotation], "%s of %s", annotation, resource.GetName())
				}
			}
			assert.NotZero(t, kinds)
		})
	}
}
