package podgroup

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/podsequence/manifests"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

func TestSamples(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]struct {
		group string
		pods  int
	}{
		"podgroup-job.yaml":    {"training", 8},
		"podgroup-native.yaml": {"training", 8},
		"podgroup-size.yaml":   {"simulation", 3},
	} {
		t.Run(file, func(t *testing.T) {
			s := newStory(t)
			s.expect(want.group, want.pods)
			s.CreateSample(file, cluster.Unchanged)
			s.awaitLabels(want.group, want.pods)
			assert.Empty(t, s.events("GroupSizeConflict"))
		})
	}
	t.Run("podgroup-coscheduling.yaml", func(t *testing.T) {
		coschedulingTurns.Take(t)
		s := newStory(t)
		kind := MakeCoschedulingDefinition()
		s.install(kind, s.coscheduling("other", 1))
		defer s.uninstall(kind)
		s.expect("training", 8)
		for _, object := range s.Sample("podgroup-coscheduling.yaml") {
			if object.GetKind() == "Job" { // the scheduler that it names is not here
				unstructured.RemoveNestedField(object.Object, "spec", "template", "spec", "schedulerName")
			}
			s.Create(object)
		}
		s.awaitLabels("training", 8)
		assert.Empty(t, s.events("GroupSizeConflict"))
	})
}

// The stage has a cluster of its own, for it would complete the pods of all other tests.
func TestTheStageCompletesGangsAsAWhole(t *testing.T) {
	t.Parallel()
	stage, err := fs.ReadFile(manifests.FS, "samples/podgroup-kwok-stage.yaml")
	require.NoError(t, err)
	for name, prepare := range map[string]func(*controlplane.Options) (apply string){
		"from the configuration of the sandbox": func(o *controlplane.Options) string {
			o.Stages = []string{string(stage)}
			return ""
		},
		"applied by a user": func(o *controlplane.Options) string {
			o.ServeStages = true
			return "kubectl apply -f ../../../manifests/samples/podgroup-kwok-stage.yaml"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			apply := prepare(&o)
			s := newStoryIn(t, cluster.Own(t, o))
			if apply != "" {
				s.Cluster.MustShell(t, apply)
				// KWOK reads it by a watch.
				s.Cluster.MustShell(t, "kubectl get stages gang-complete pod-ready node-ready")
			}
			s.Create(s.pod("alone", "parted", size("2")))
			s.awaitPhase(corev1.PodRunning, "alone")
			s.CreateSample("podgroup-job.yaml", cluster.Unchanged)
			s.Await("the Job to complete", func() bool {
				job := &batchv1.Job{}
				require.NoError(t, s.API.Get(s.Ctx, s.Key("training"), job))
				return job.Status.CompletionTime != nil
			})
			assert.Len(t, s.group("training"), 8)
			assert.Equal(t, corev1.PodRunning, s.get("alone").Status.Phase, "the other half of its gang is not there")
		})
	}
}
