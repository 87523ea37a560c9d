package podseqctl

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// The order of objects in the input does not matter: whichever tool applies them has an order of its own.
func TestPodsThatMayStartEarlyAreFoundHoweverTheyAreGiven(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata/files/early", name))
		require.NoError(t, err)
		return string(text)
	}
	sequences, workloads, namespaces := read("shop.yaml"), read("workloads.yaml"), read("namespaces.yaml")
	want := withoutSources(run(&fakeSource{}, []string{"lint", "-f", "testdata/files/early"}))
	require.Contains(t, want, "Warning MayStartOutOfOrder: ")
	for name, output := range map[string]func() string{
		"a kustomization":          func() string { return run(&fakeSource{}, []string{"lint", "-k", "testdata/files/early"}) },
		"the sequences come first": func() string { return lintStandardInput(t, namespaces, sequences, workloads) },
		"the sequences come last":  func() string { return lintStandardInput(t, namespaces, workloads, sequences) },
		"the namespaces come last": func() string { return lintStandardInput(t, sequences, workloads, namespaces) },
		"the workloads are a list": func() string {
			return lintStandardInput(t, "kind: List\napiVersion: v1\nitems:\n"+items(workloads), sequences, namespaces)
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, want, withoutSources(output()))
		})
	}
}

// lintStandardInput runs lint -f - with these documents, as after helm template.
func lintStandardInput(t *testing.T, documents ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "input.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(documents, "\n---\n")), 0o600))
	input, err := os.Open(file)
	require.NoError(t, err)
	defer func(before *os.File) {
		os.Stdin = before
		require.NoError(t, input.Close())
	}(os.Stdin)
	os.Stdin = input
	return run(&fakeSource{}, []string{"lint", "-f", "-"})
}

// items makes a YAML list of documents.
func items(documents string) string {
	var list strings.Builder
	for _, document := range strings.Split(documents, "---\n") {
		list.WriteString("- " + strings.ReplaceAll(strings.TrimSpace(document), "\n", "\n  ") + "\n")
	}
	return list.String()
}

var source = regexp.MustCompile(`(?m)^(\S+ \S+)   .*$`)

func withoutSources(output string) string { return source.ReplaceAllString(output, "$1") }

// clusterSource is a cluster of some version, without the kind PodSequence if missing says so.
type clusterSource struct {
	*fakeSource
	kubernetes string
	missing    bool
}

func (s *clusterSource) KubernetesVersion(context.Context) (string, error) { return s.kubernetes, nil }

func (s *clusterSource) List(ctx context.Context, namespace string) ([]*snapshot.Sequence, []string, error) {
	if s.missing {
		return nil, nil, listError("PodSequences", namespace, &snapshot.NotInstalledError{Resource: v1alpha1.PodSequenceResource})
	}
	return s.fakeSource.List(ctx, namespace)
}

// Where the kinds are not installed there is nothing to check, and no errors would be a false answer.
func TestLintSaysHowToCheckAFileThatIsGivenAsAName(t *testing.T) {
	for _, file := range []string{"testdata/files/early", "shop.yaml"} {
		assert.Contains(t, run(&fakeSource{}, []string{"lint", file}), "; to check the file "+file+", use -f "+file)
	}
	assert.NotContains(t, run(&fakeSource{}, []string{"lint", "shop"}), "-f")
}

func TestLintOfAClusterWithoutTheKindsFails(t *testing.T) {
	output := run(&clusterSource{fakeSource: parse(t, ""), missing: true}, []string{"lint"})
	assert.Equal(t, "error: "+(&snapshot.NotInstalledError{Resource: v1alpha1.PodSequenceResource}).Error()+"\n", output)
}

// Before Kubernetes 1.36 no policy gives pods with the label to podsequence-scheduler.
func TestWhatTheLabelNeedsDependsOnTheVersionOfTheCluster(t *testing.T) {
	const objects = `
apiVersion: scheduling.example.com/v1alpha1
kind: PodSequence
metadata: {name: shop}
spec:
  podGroups:
  - {name: Database, podSelector: {matchLabels: {tier: db}}, expectedPods: 1}
  - {name: Web, podSelector: {matchLabels: {tier: web}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {progressDeadlineSeconds: 2147483647, template: {metadata: {labels: {tier: web LABEL}}, spec: {schedulerName: SCHEDULER}}}
`
	const held = "0 errors, 0 warnings, 0 notes\n"
	tests := map[string]struct{ kubernetes, label, scheduler, want string }{
		"the label is enough from 1.36": {"1.36", "shop", "default-scheduler", held},
		"the label needs the scheduler before": {"1.35", "shop", "default-scheduler",
			"because the label podsequence.example.com/sequence alone holds nothing before Kubernetes 1.36, and this cluster has 1.35: " +
				"set schedulerName: podsequence-scheduler in spec.template.spec, or add the scheduling gate"},
		"with the scheduler it is enough": {"1.35", "shop", "podsequence-scheduler", held},
		"the label alone is the advice from 1.36": {"1.37", "", "default-scheduler",
			"nothing can hold them: add the label podsequence.example.com/sequence: shop to spec.template.metadata.labels\n"},
		"the label and the scheduler are the advice before": {"1.34", "", "default-scheduler",
			"nothing can hold them: add the label podsequence.example.com/sequence: shop to spec.template.metadata.labels, " +
				"and set schedulerName: podsequence-scheduler in spec.template.spec\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			label := ""
			if test.label != "" {
				label = ", podsequence.example.com/sequence: " + test.label
			}
			source := parse(t, strings.NewReplacer(" LABEL", label, "SCHEDULER", test.scheduler).Replace(objects))
			assert.Contains(t, run(&clusterSource{fakeSource: source, kubernetes: test.kubernetes}, []string{"lint"}), test.want)
		})
	}
}

func TestAGatedPodOfAFileIsRoutedAsByThePolicy(t *testing.T) {
	output := lintStandardInput(t, `
apiVersion: scheduling.example.com/v1alpha1
kind: PodSequence
metadata: {name: storage}
spec:
  scope: Node
  podGroups:
  - {name: Driver, podSelector: {matchLabels: {app: driver}}, expectedPods: 1}
  - {name: Web, pods: [web]}`, `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  schedulingGates: [{name: podsequence.example.com/sequence-gate}]
  containers: [{name: c, image: c}]`)
	assert.NotContains(t, output, "UnsupportedScope")
}
