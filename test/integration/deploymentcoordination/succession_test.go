package deploymentcoordination

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "example.com/podsequence/apis/apps/v1"
)

// While a rolls out and b and c wait, somebody replaces the coordination, which most tools do by deleting it first. The watcher judges
// whether two rolled out together.
func TestACoordinationThatIsReplacedHandsOverWhatWaits(t *testing.T) {
	for name, replace := range map[string]func(s *story, c *v1.DeploymentCoordination, file string){
		"kubectl replace --force": func(s *story, _ *v1.DeploymentCoordination, file string) { s.kubectl("replace", "--force", "-f", file) },
		"deleted and created": func(s *story, _ *v1.DeploymentCoordination, file string) {
			s.kubectl("delete", "-f", file)
			s.kubectl("create", "-f", file)
		},
		"deleted in the foreground and created": func(s *story, _ *v1.DeploymentCoordination, file string) {
			s.kubectl("delete", "--cascade=foreground", "-f", file)
			s.kubectl("create", "-f", file)
		},
		"renamed and the old one pruned first": func(s *story, c *v1.DeploymentCoordination, file string) {
			s.kubectl("delete", "-f", file)
			renamed := s.coordination("renamed")
			renamed.Spec = c.Spec
			s.Create(renamed)
		},
		"renamed and the old one pruned last": func(s *story, c *v1.DeploymentCoordination, file string) {
			renamed := s.coordination("renamed")
			renamed.Spec = c.Spec
			s.Create(renamed)
			s.kubectl("delete", "-f", file)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			c := s.coordination("shop", minReady(1))
			s.rolledOut(c, "a", "b", "c")
			s.update("a", image("2", "never"))
			s.awaitActive("a")
			s.awaitUnpaused("a")
			s.update("b", image("2", "0s"))
			s.update("c", image("2", "0s"))
			replace(s, c, s.file(c))
			s.fence()
			assert.True(t, s.get("b").Spec.Paused)
			assert.True(t, s.get("c").Spec.Paused)
			s.update("a", image("3", "0s"))
			s.awaitUnpaused("a", "b", "c")
			s.awaitComplete("a", "b", "c")
		})
	}
}

// file writes the coordination as it is in Git.
func (s *story) file(c *v1.DeploymentCoordination) string {
	s.Helper()
	text, err := json.Marshal(map[string]any{
		"apiVersion": v1.GroupVersion.String(), "kind": "DeploymentCoordination",
		"metadata": map[string]any{"namespace": c.Namespace, "name": c.Name}, "spec": c.Spec,
	})
	require.NoError(s, err)
	file := filepath.Join(s.TempDir(), "coordination.json")
	require.NoError(s, os.WriteFile(file, text, 0o600))
	return file
}
