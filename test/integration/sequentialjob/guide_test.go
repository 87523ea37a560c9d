package sequentialjob

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/manifests"
	"example.com/podsequence/test/harness/book"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// guide is the page whose numbered steps the test follows.
const guide = "docs/migrate/sequential-job-operator.md"

var numbered = regexp.MustCompile(`^([0-9]+)\. `)

// guideSteps are the commands of each numbered step, in order.
func guideSteps(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../..", guide))
	require.NoError(t, err)
	page, err := book.Parse(guide, string(text))
	require.NoError(t, err)
	for i, line := range page.Lines {
		match := numbered.FindStringSubmatch(line.Text)
		if match == nil {
			continue
		}
		require.Equal(t, fmt.Sprint(len(all)+1), match[1], "%s:%d", guide, line.Number)
		end := 1 << 30
		for _, next := range page.Lines[i+1:] {
			if numbered.MatchString(next.Text) {
				end = next.Number
				break
			}
		}
		commands := ""
		for _, block := range page.Blocks {
			if block.Info == "sh guide" && block.Number > line.Number && block.Number < end {
				commands += block.Text
			}
		}
		all = append(all, commands)
	}
	return all
}

// guided is a reader of the guide.
type guided struct {
	*story
	dir   string
	steps []string
}

func (g *guided) shell(commands string) string {
	g.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(g, err)
	bin, err = filepath.Abs(bin)
	require.NoError(g, err)
	output, err := g.Cluster.Shell(g, fmt.Sprintf("set -euo pipefail; cd '%s'; PATH=\"$PATH:%s\"\n%s", g.dir, bin, commands))
	require.NoError(g, err, "%s\n%s", commands, output)
	return output
}

// follow runs the commands of the next step.
func (g *guided) follow() string {
	g.Helper()
	require.NotEmpty(g, g.steps, "the guide has fewer steps")
	commands := g.steps[0]
	g.steps = g.steps[1:]
	require.NotEmpty(g, commands, "a step without commands, before %d others", len(g.steps))
	output := g.shell(commands)
	g.Logf("%s\n%s", commands, output)
	return output
}

// leaveAsFormer brings the cluster to where the operator that had this API first was stopped.
func (g *guided) leaveAsFormer() {
	g.Helper()
	testdata, err := filepath.Abs("testdata")
	require.NoError(g, err)
	g.shell("kubectl delete crd sequentialjobs.batch.example.com")
	g.shell("kubectl apply -f " + testdata + "/former-definition.yaml; kubectl wait --for=condition=Established crd/sequentialjobs.batch.example.com --timeout=2m")
	text, err := os.ReadFile(filepath.Join(testdata, "former.yaml"))
	require.NoError(g, err)
	g.shell("for i in $(seq 60); do kubectl apply -f " + testdata + "/former.yaml && exit 0; sleep 1; done; exit 1")
	for _, document := range strings.Split(string(text), "\n---\n") {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
			Status   map[string]any
		}
		require.NoError(g, yaml.Unmarshal([]byte(document), &object))
		if object.Kind != v1alpha1.SequentialJobKind.Kind {
			continue
		}
		status, err := yaml.Marshal(map[string]any{"status": object.Status})
		require.NoError(g, err)
		file := filepath.Join(g.dir, "status.yaml")
		require.NoError(g, os.WriteFile(file, status, 0o600))
		g.shell("kubectl patch sequentialjob " + object.Metadata.Name + " -n etl-team --subresource=status --type=merge --patch-file " + file)
	}
	g.shell("kubectl apply -f " + testdata + "/former-webhooks.yaml")
	install, err := manifests.FS.ReadFile("crds/batch.example.com_sequentialjobs.yaml")
	require.NoError(g, err)
	require.NoError(g, os.WriteFile(filepath.Join(g.dir, "install.yaml"), install, 0o600))
}

func TestTheGuideFromTheSequentialJobOperator(t *testing.T) {
	g := &guided{story: newStoryOfVictims(t), dir: t.TempDir(), steps: guideSteps(t)}
	g.WhileControllerDown(func() {
		g.leaveAsFormer()
		assert.Contains(t, g.follow(), "FormerFinalizer")
		assert.Regexp(t, `interrupted +1 `, g.follow())
		g.follow() // the operator and its webhooks go
		g.follow() // ours is installed
	})
	ours := *g.story.Story
	ours.Namespace = "etl-team"
	s := &story{Story: &ours}
	for name, want := range map[string]v1alpha1.Phase{
		"done": v1alpha1.PhaseSucceeded, "failed": v1alpha1.PhaseFailed, "interrupted": v1alpha1.PhaseFailed, "between": v1alpha1.PhaseSucceeded,
	} {
		object := s.awaitPhase(name, want)
		assert.Empty(t, object.Finalizers, name)
	}
	assert.Equal(t, []string{"sh", "-c"}, s.job("between-1").Spec.Template.Spec.Containers[0].Command)
	assert.Len(t, s.jobs(), 1, "no step that has run runs again")
	assert.Equal(t, "Error", s.get("failed").Status.Progress.FailureReason)
	assert.Contains(t, s.get("interrupted").Status.Message, "in pod interrupted-1")

	assert.Regexp(t, `done +Succeeded +2/2`, g.follow())
	g.shell("kubectl annotate sjob/interrupted -n etl-team batch.example.com/retry=1")
	object := s.awaitPhase("interrupted", v1alpha1.PhaseSucceeded)
	assert.Equal(t, ptr.To[int32](2), object.Status.Progress.CurrentIndex)
	assert.Len(t, s.jobs(), 2)
	g.follow() // what is left is removed
	assert.Empty(t, g.steps, "nobody follows these steps")
	g.shell("kubectl delete namespace etl-team --timeout=4m")
}
