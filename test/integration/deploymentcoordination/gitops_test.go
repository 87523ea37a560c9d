package deploymentcoordination

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/test/harness/cluster"
)

// Tools that apply what is in Git do so again and again, and Git does not know whose turn it is. Each of these writes
// "paused: false", or leaves it out and replaces everything, each second until all have rolled out.
func TestWhoeverUnpausesADeploymentThatWaits(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(s *tool, file string, before, now []manifest){
		"server-side apply": func(s *tool, file string, _, _ []manifest) {
			s.kubectl("apply --server-side --force-conflicts --field-manager=argocd -f " + file)
		},
		"client-side apply": func(s *tool, file string, _, _ []manifest) { s.kubectl("apply -f " + file) },
		"replace":           (*tool).replace,
		"the three-way patch of a Helm upgrade": func(s *tool, _ string, before, now []manifest) {
			for i := range now {
				s.upgrade(before[i], now[i])
			}
		},
		"kubectl rollout resume, and scaling": func(s *tool, _ string, _, now []manifest) {
			s.turns++
			for _, m := range now {
				d := s.get(m.name())
				if d.Spec.Template.Spec.Containers[0].Image != m.image() {
					s.update(m.name(), func(d *appsv1.Deployment) { d.Spec.Template = m.template() })
				}
				if d.Spec.Paused {
					s.kubectl(fmt.Sprintf("rollout resume deployment/%s || true", m.name())) // it may have the turn by now
					s.kubectl(fmt.Sprintf("scale deployment/%s --replicas=%d", m.name(), 2+s.turns%2))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &tool{story: newStory(t), dir: t.TempDir()}
			s.rolledOut(s.coordination("shop"), "a", "b", "c")
			before, now := s.manifests("1", "0s"), s.manifests("2", "2s")
			file := s.write(now)
			began := time.Now()
			for every := time.NewTicker(time.Second); !s.haveRolledOut(now); <-every.C {
				require.Less(t, time.Since(began), cluster.Patience)
				write(s, file, before, now)
				before = now
			}
			s.awaitReady("shop")
			s.awaitCondition("shop", v1.ConditionDegraded, "False "+v1.ReasonAsExpected)
		})
	}
}

// tool is one that applies manifests.
type tool struct {
	*story
	dir   string
	turns int
}

// manifest is a Deployment as it is in Git: it says "paused: false".
type manifest map[string]any

func (m manifest) typed() *appsv1.Deployment {
	d := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, d); err != nil {
		panic(err)
	}
	return d
}

func (m manifest) template() corev1.PodTemplateSpec { return m.typed().Spec.Template }

func (m manifest) name() string  { return m.typed().Name }
func (m manifest) image() string { return m.typed().Spec.Template.Spec.Containers[0].Image }

// haveRolledOut reports whether all Deployments are as the manifests say.
func (s *tool) haveRolledOut(manifests []manifest) bool {
	s.Helper()
	for _, m := range manifests {
		if d := s.get(m.name()); marked(d) || !complete(d) || d.Spec.Template.Spec.Containers[0].Image != m.image() {
			return false
		}
	}
	return true
}

func (s *tool) manifests(tag, ready string) []manifest {
	s.Helper()
	var all []manifest
	for _, name := range []string{"a", "b", "c"} {
		d := s.deployment(name)
		image(tag, ready)(d)
		d.APIVersion, d.Kind = "apps/v1", "Deployment"
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
		require.NoError(s, err)
		delete(object, "status")
		object["spec"].(map[string]any)["paused"] = false
		all = append(all, object)
	}
	return all
}

// write writes manifests into a file.
func (s *tool) write(manifests []manifest) string {
	s.Helper()
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": manifests})
	require.NoError(s, err)
	file := filepath.Join(s.dir, "manifests.json")
	require.NoError(s, os.WriteFile(file, list, 0o600))
	return file
}

func (s *tool) kubectl(command string) {
	s.Helper()
	s.Cluster.MustShell(s, "kubectl --namespace "+s.Namespace+" "+command)
}

// replace may find that somebody else has written meanwhile. It comes again.
func (s *tool) replace(file string, _, _ []manifest) { s.kubectl("replace -f " + file + " || true") }

// upgrade does what Helm 3 does with an object of a release: it patches what differs between the manifest before, the one of
// now, and what is there.
func (s *tool) upgrade(before, now manifest) {
	s.Helper()
	live := s.get(now.name())
	documents := make([][]byte, 3)
	for i, of := range []any{before, now, live} {
		var err error
		documents[i], err = json.Marshal(of)
		require.NoError(s, err)
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(live)
	require.NoError(s, err)
	patch, err := strategicpatch.CreateThreeWayMergePatch(documents[0], documents[1], documents[2], meta, true)
	require.NoError(s, err)
	require.NoError(s, s.API.Patch(s.Ctx, live, client.RawPatch(types.StrategicMergePatchType, patch)))
}
