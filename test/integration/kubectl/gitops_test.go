package kubectl

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// deployer is a tool that applies a manifest again and again, with options of its own.
type deployer struct {
	name  string
	apply func(s *story, manifest string)
	// after applies the manifest once before; nil if nothing does.
	after func(s *story, manifest string)
	// replaces reports that it replaces the whole object, so that no annotation of others stays.
	replaces bool
	// takesFromKubectl reports that it takes back what was written by kubectl without the plugin.
	takesFromKubectl bool
}

// deployers are the ways to deploy that docs/gitops.md tells of. bin/gitops contains the libraries of Flux and Argo CD.
var deployers = []deployer{
	{name: "kubectl-apply", apply: kubectl("apply -f")},
	{name: "kubectl-apply-server-side", apply: kubectl("apply --server-side --force-conflicts -f")},
	{name: "kubectl-replace", apply: createOr("replace -f"), replaces: true},
	{name: "flux", apply: program("gitops", "flux"), takesFromKubectl: true},
	{name: "flux-force", apply: program("gitops", "flux", "-force"), takesFromKubectl: true},
	{name: "flux-merge", apply: program("gitops", "flux", "-ssa=Merge")},
	{name: "argo", apply: program("gitops", "argo")},
	{name: "argo-force", apply: program("gitops", "argo", "-force")},
	{name: "argo-server-side", apply: program("gitops", "argo", "-server-side")},
	{name: "argo-server-side-after-client-side", apply: program("gitops", "argo", "-server-side"), after: program("gitops", "argo")},
	{name: "argo-replace", apply: program("gitops", "argo", "-replace"), replaces: true},
	{name: "argo-replace-force", apply: program("gitops", "argo", "-replace", "-force"), replaces: true},
	{name: "helm", apply: helm()},
	{name: "helm-client-side", apply: helm("--server-side=false")},
	{name: "helm-force-conflicts", apply: helm("--force-conflicts")},
	{name: "helm-force-replace", apply: helm("--server-side=false", "--force-replace"), replaces: true},
}

// kubectl applies with kubectl.
func kubectl(verb string) func(*story, string) {
	return func(s *story, manifest string) {
		s.Helper()
		s.applies(func() (string, error) { return s.Cluster.Shell(s, "kubectl "+verb+" "+manifest) })
	}
}

// createOr creates what is not there, and changes what is.
func createOr(verb string) func(*story, string) {
	return func(s *story, manifest string) {
		s.Helper()
		command := fmt.Sprintf("if kubectl get -f %[1]s; then kubectl %[2]s %[1]s; else kubectl create -f %[1]s; fi", manifest, verb)
		s.applies(func() (string, error) { return s.Cluster.Shell(s, command) })
	}
}

// program applies with one of the programs in bin, as the administrator.
func program(name string, arguments ...string) func(*story, string) {
	return func(s *story, manifest string) {
		s.Helper()
		s.run(name, append(arguments, manifest)...)
	}
}

// helm installs a release of a chart with the manifest, or upgrades it.
func helm(flags ...string) func(*story, string) {
	return func(s *story, manifest string) {
		s.Helper()
		content, err := os.ReadFile(manifest)
		require.NoError(s, err)
		chart := s.TempDir()
		require.NoError(s, os.Mkdir(filepath.Join(chart, "templates"), 0o700))
		require.NoError(s, os.WriteFile(filepath.Join(chart, "templates", "sequence.yaml"), content, 0o600))
		require.NoError(s, os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte("{apiVersion: v2, name: shop, version: 1.0.0}"), 0o600))
		s.run("helm", append([]string{"upgrade", "--install", "shop", chart, "--namespace", s.Namespace}, flags...)...)
	}
}

// run runs a program of bin with the rights of the administrator.
func (s *story) run(name string, arguments ...string) {
	s.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(s, err)
	file := filepath.Join(bin, name)
	require.FileExists(s, file, "run make build-"+name)
	home := s.TempDir()
	s.applies(func() (string, error) {
		command := exec.CommandContext(s.Ctx, file, arguments...)
		command.Env = append(os.Environ(), "KUBECONFIG="+s.Cluster.Kubeconfig(),
			"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
		output, err := command.CombinedOutput()
		return string(output), err
	})
}

// applies runs a tool until it applies the manifest. What replaces an object may meet the controller, which writes its status, and then
// begins again, as these tools do at their next turn.
func (s *story) applies(tool func() (output string, err error)) {
	s.Helper()
	s.Await("the tool to apply the manifest", func() bool {
		output, err := tool()
		if err != nil {
			require.Contains(s, output, "the object has been modified", "%v", err)
		}
		return err == nil
	})
}

// manifest writes the manifest of a sequence, as a team has it.
func (s *story) manifest(team string) string {
	s.Helper()
	file := filepath.Join(s.TempDir(), "sequence.yaml")
	require.NoError(s, os.WriteFile(file, fmt.Appendf(nil, `apiVersion: scheduling.example.com/v1alpha1
kind: PodSequence
metadata: {name: backend, namespace: %s, labels: {team: %s}}
spec:
  podGroups:
  - {name: Database, podSelector: {matchLabels: {tier: db}}}
  - {name: Application, podSelector: {matchLabels: {tier: app}}}
  - {name: Team %s, podSelector: {matchLabels: {team: %s}}}
`, s.Namespace, team, team, team), 0o600))
	return file
}

// GitOps tools apply the manifest again and again. What an operator decided at three in the morning must survive that.
func TestWhatAnOperatorOverridesSurvivesDeployingTools(t *testing.T) {
	t.Parallel()
	for _, d := range deployers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, "edit")
			if d.after != nil {
				d.after(s, s.manifest("blue"))
			}
			d.apply(s, s.manifest("blue"))
			s.Create(unready(s.pod("db", "db")), s.pod("app", "app"))
			s.awaitHeld("app")
			s.Says("skip", "backend", "Database", "--reason", "fixed by hand", "--for", "1h")
			s.awaitReady("app")

			survives := map[string]string{v1alpha1.SkipAnnotation: "Database", v1alpha1.OverrideReasonAnnotation: "fixed by hand"}
			for name := range survives {
				if d.replaces {
					delete(survives, name)
				}
			}
			for _, team := range []string{"blue", "red", "red"} {
				d.apply(s, s.manifest(team))
				sequence := cluster.Get(s.Story, &v1alpha1.PodSequence{}, "backend")
				assert.Equal(t, "Team "+team, sequence.Spec.PodGroups[2].Name)
				require.Equal(t, survives, overridesIn(sequence), "managed fields: %v", sequence.ManagedFields)
			}
			s.Create(s.pod("later", "app"))
			if d.replaces {
				s.awaitHeld("later")
			} else {
				s.awaitReady("later")
			}
		})
	}
}

// Without the plugin, an operator has kubectl annotate. Flux takes back what that wrote, by the name of its field manager.
func TestWhatKubectlAnnotateOverridesSurvivesMostDeployingTools(t *testing.T) {
	t.Parallel()
	for _, d := range deployers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, "edit")
			d.apply(s, s.manifest("blue"))
			kubectl("annotate podseq backend "+v1alpha1.SuspendAnnotation+"=true -n")(s, s.Namespace)
			kubectl("annotate podseq backend --field-manager=on-call "+v1alpha1.SkipAnnotation+"=Database -n")(s, s.Namespace)
			d.apply(s, s.manifest("red"))
			survives := map[string]string{v1alpha1.SuspendAnnotation: "true", v1alpha1.SkipAnnotation: "Database"}
			if d.replaces || d.takesFromKubectl {
				delete(survives, v1alpha1.SuspendAnnotation)
			}
			if d.replaces {
				delete(survives, v1alpha1.SkipAnnotation)
			}
			assert.Equal(t, survives, overridesIn(cluster.Get(s.Story, &v1alpha1.PodSequence{}, "backend")))
		})
	}
}

// overridesIn returns the annotations that override the spec, but for the end.
func overridesIn(sequence *v1alpha1.PodSequence) map[string]string {
	found := map[string]string{}
	for _, name := range []string{v1alpha1.SuspendAnnotation, v1alpha1.SkipAnnotation, v1alpha1.OverrideReasonAnnotation} {
		if value, has := sequence.Annotations[name]; has {
			found[name] = value
		}
	}
	return found
}
