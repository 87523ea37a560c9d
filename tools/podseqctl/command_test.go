package podseqctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/podsequence/internal/version"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// Our samples are what people copy: nothing is wrong with them.
func TestSamplesHaveNoErrors(t *testing.T) {
	output := run(&fakeSource{}, []string{"lint", "-R", "-f", "../../manifests/samples"})
	assert.NotContains(t, output, "Error")
	assert.Contains(t, output, "\n0 errors, ")
}

// Each command says how it is used, by examples.
func TestEveryCommandHasExamples(t *testing.T) {
	command := NewCommand(genericiooptions.NewTestIOStreamsDiscard(), Options{Source: &fakeSource{}})
	for _, sub := range command.Commands() {
		if sub.Name() == "help" || sub.Name() == "completion" {
			continue
		}
		assert.Contains(t, sub.Example, "kubectl podseq "+sub.Name(), "%s has an example", sub.Name())
		assert.NotNil(t, sub.ValidArgsFunction, "%s completes its arguments", sub.Name())
	}
}

func TestCompletion(t *testing.T) {
	source := parse(t, `
apiVersion: scheduling.example.com/v1alpha1
kind: PodSequence
metadata: {name: backend}
spec: {podGroups: [{name: Database, podSelector: {}}, {podSelector: {}}]}
---
apiVersion: scheduling.example.com/v1alpha1
kind: ClusterPodSequence
metadata: {name: platform}
spec: {podGroups: [{podSelector: {}, namespaces: [shop]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
---
apiVersion: v1
kind: Pod
metadata: {name: waiting}
---
apiVersion: v1
kind: Pod
metadata: {name: running}
spec: {nodeName: node-1}
`)
	tests := map[string]struct {
		args string
		want string
	}{
		"the sequences of both kinds":       {args: "get", want: "backend clusterpodsequence/platform"},
		"the groups of a sequence":          {args: "skip backend", want: "Database|Group 2"},
		"nothing after the name":            {args: "tree backend", want: ""},
		"the pods that wait":                {args: "why", want: "waiting"},
		"the workloads":                     {args: "release", want: "deployment/web"},
		"what a dry run may be":             {args: "suspend backend --dry-run", want: "none server"},
		"the groups of a cluster sequence":  {args: "skip clusterpodsequence/platform", want: "Group 1"},
		"nothing of a sequence that is not": {args: "skip nothing", want: ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			output := run(source, append(append([]string{cobra.ShellCompRequestCmd}, strings.Fields(test.args)...), ""))
			lines, _, _ := strings.Cut(output, ":")
			want := strings.FieldsFunc(test.want, func(r rune) bool { return r == '|' })
			if !strings.Contains(test.want, "|") && !strings.Contains(test.want, "Group") {
				want = strings.Fields(test.want)
			}
			assert.Equal(t, want, nonEmpty(strings.Split(lines, "\n")), output)
		})
	}
}

func nonEmpty(lines []string) []string {
	kept := []string{}
	for _, line := range lines {
		if line != "" {
			kept = append(kept, line)
		}
	}
	return kept
}

// Sequences may have 64 groups, and the names of groups 63 characters.
func TestLinesAreNotWiderThanTheOutput(t *testing.T) {
	var groups strings.Builder
	for i := range 64 {
		fmt.Fprintf(&groups, "  - {name: a-tier-of-services-with-a-long-name-%02d, podSelector: {matchLabels: {tier: t%d}}}\n", i, i)
	}
	source := parse(t, "apiVersion: scheduling.example.com/v1alpha1\nkind: PodSequence\nmetadata: {name: large}\nspec:\n  podGroups:\n"+groups.String())
	for columns, most := range map[string]int{"": 200, "160": 160, "120": 120} {
		t.Run("columns "+columns, func(t *testing.T) {
			t.Setenv("COLUMNS", columns)
			output := run(source, []string{"get", "large"})
			for line := range strings.Lines(output) {
				assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSpace(line)), most, line)
			}
			assert.Contains(t, output, "63 groups: a-tier-of-services", "how many there are is never cut")
		})
	}
}

// A pod that is not ready has waited until now, which is no whole second as the times of the API are.
func TestTheTimelineHasWholeSeconds(t *testing.T) {
	source := parse(t, `
apiVersion: scheduling.example.com/v1alpha1
kind: PodSequence
metadata: {name: backend}
spec: {podGroups: [{podSelector: {}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: db, creationTimestamp: "2026-03-01T11:59:09Z"}
spec: {nodeName: node-1, schedulerName: podsequence-scheduler}
status: {conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2026-03-01T11:59:10Z"}]}
`)
	output := runAt(source, now.Add(575088983), []string{"timeline", "backend"})
	assert.Contains(t, output, "not all ready after 51s ")
	assert.Contains(t, output, "db was scheduled after 1s and is still not ready 50s later")
	assert.NotContains(t, output, ".57")
	assert.Contains(t, runAt(source, now.Add(575088983), []string{"timeline", "backend", "-o", "json"}), `"end": "2026-03-01T12:00:00Z"`)
}

// versionedSource says what runs in the cluster.
type versionedSource struct {
	*fakeSource
	programs []Program
	denied   error
}

func (s *versionedSource) KubernetesVersion(context.Context) (string, error) { return "v1.36.2", nil }

func (s *versionedSource) Programs(_ context.Context, namespace string) ([]Program, error) {
	return s.programs, s.denied
}

func TestVersion(t *testing.T) {
	running := []Program{{Namespace: "podsequence-system", Name: "podsequence-controller", Image: "example.com/podsequence-controller:v1", Ready: 1, Replicas: 2}}
	tests := map[string]struct {
		source   Source
		args     string
		want     []string
		unwanted string
	}{
		"of the client and of the programs that are installed": {
			source: &versionedSource{programs: running}, args: "version",
			want: []string{"kubectl-podseq", version.String(), "Kubernetes", "v1.36.2", "podsequence-controller", "image example.com/podsequence-controller:v1, 1/2 ready"},
		},
		"of the client alone": {
			source: &versionedSource{programs: running}, args: "version --client", want: []string{version.String()}, unwanted: "v1.36.2",
		},
		"for programs": {
			source: &versionedSource{programs: running}, args: "version -o json",
			want: []string{`"commit": "unknown"`, `"kubernetesVersion": "v1.36.2"`, `"image": "example.com/podsequence-controller:v1"`},
		},
		"where Deployments may not be read": {
			source: &versionedSource{denied: apierrors.NewForbidden(appsv1.Resource("deployments"), "", errors.New("no"))}, args: "version",
			want: []string{version.String(), "v1.36.2", "note: the installed programs are not known: deployments.apps is forbidden", "ask for the role view in namespace podsequence-system"},
		},
		"where nothing is installed": {
			source: &versionedSource{}, args: "version", want: []string{"v1.36.2", "note: namespace podsequence-system has no Deployment of PodSequence: give --installation-namespace if it is elsewhere"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			output := run(test.source, strings.Fields(test.args))
			for _, want := range test.want {
				assert.Contains(t, output, want)
			}
			if test.unwanted != "" {
				assert.NotContains(t, output, test.unwanted)
			}
		})
	}
}

// watchedSource changes once, and then the user ends the command.
type watchedSource struct {
	*fakeSource
	reads  int
	cancel context.CancelFunc
}

func (s *watchedSource) List(ctx context.Context, namespace string) ([]*snapshot.Sequence, []string, error) {
	if s.reads++; s.reads == 2 {
		s.cancel()
	}
	return s.fakeSource.List(ctx, namespace)
}

func (s *watchedSource) Changed(context.Context, string) (<-chan struct{}, error) {
	changed := make(chan struct{}, 1)
	changed <- struct{}{}
	return changed, nil
}

func TestAWatchPrintsAgainWhenSomethingChanges(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	source := &watchedSource{cancel: cancel, fakeSource: parse(t, `
apiVersion: scheduling.example.com/v1alpha1
kind: PodSequence
metadata: {name: backend}
spec: {podGroups: [{podSelector: {}}]}
`)}
	var out bytes.Buffer
	command := NewCommand(genericiooptions.IOStreams{Out: &out, ErrOut: &out}, Options{Source: source, Clock: clocktesting.NewFakePassiveClock(now)})
	command.SetArgs([]string{"-n", "shop", "get", "-w"})
	require.NoError(t, command.ExecuteContext(ctx))
	assert.Equal(t, 2, strings.Count(out.String(), "NAME"))
}
