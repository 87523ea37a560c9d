package sequentialjob

import (
	"io/fs"
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/manifests"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// stepsRunUntilTold makes the pods of a SequentialJob run until the test ends them.
func stepsRunUntilTold(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	if object.GetKind() != v1alpha1.SequentialJobKind.Kind {
		return
	}
	require.NoError(t, unstructured.SetNestedField(object.Object, "never", "spec", "template", "metadata", "annotations", cluster.CompleteAfter))
}

func TestEverySampleSucceedsAsItIs(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(manifests.FS, "samples/sequentialjob-*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		file = path.Base(file)
		t.Run(file, func(t *testing.T) {
			s := newStory(t)
			s.CreateSample(file, cluster.Unchanged)
			var all v1alpha1.SequentialJobList
			require.NoError(t, s.API.List(s.Ctx, &all, client.InNamespace(s.Namespace)))
			require.NotEmpty(t, all.Items)
			for i := range all.Items {
				s.awaitPhase(all.Items[i].Name, v1alpha1.PhaseSucceeded)
			}
		})
	}
}

func TestStepsWaitForAGroupOfAPodSequence(t *testing.T) {
	s := newStory(t)
	s.CreateSample("sequentialjob-after-database.yaml", func(object *unstructured.Unstructured) {
		if object.GetKind() == "Pod" {
			object.SetAnnotations(map[string]string{cluster.ReadyAfter: "never"})
		}
		stepsRunUntilTold(t, object)
	})
	s.Await("the first step's pod to be held", func() bool {
		pods := s.pods("import", 0)
		return len(pods) == 1 && cluster.IsHeld(&pods[0])
	})
	s.fenceScheduler()
	assert.Empty(t, s.pods("import", 0)[0].Spec.NodeName)

	db := &corev1.Pod{}
	require.NoError(t, s.API.Get(s.Ctx, s.Key("import-db"), db))
	s.Patch(db, map[string]any{"metadata": map[string]any{"annotations": map[string]string{cluster.ReadyAfter: "0s"}}})
	s.complete("import", 0)
	s.complete("import", 1)
	s.awaitPhase("import", v1alpha1.PhaseSucceeded)
}

func TestAGroupOfAPodSequenceWaitsForTheLastStep(t *testing.T) {
	s := newStory(t)
	s.CreateSample("sequentialjob-before-application.yaml", func(object *unstructured.Unstructured) {
		stepsRunUntilTold(t, object)
	})
	application := func() *corev1.Pod { return cluster.Get(s.Story, &corev1.Pod{}, "migrated-application") }
	s.Await("the application to be held", func() bool { return cluster.IsHeld(application()) })
	s.complete("migration", 0)
	s.awaitRunning("migration", 1)
	s.fenceScheduler()
	assert.Empty(t, application().Spec.NodeName)
	s.complete("migration", 1)
	s.Await("the application to be placed", func() bool { return application().Spec.NodeName != "" })
	s.awaitPhase("migration", v1alpha1.PhaseSucceeded)
}

// fenceScheduler returns when our scheduler has acted on everything that happened to pods before: it lets one go because
// of what happens to another later.
func (s *story) fenceScheduler() {
	s.Helper()
	pod := func(name string) *corev1.Pod {
		return st.MakePod().Namespace(s.Namespace).Name(name).SchedulerName(controlplane.PodSequenceScheduler).
			Container("example.com/fence").Annotation(cluster.ReadyAfter, "0s").Obj()
	}
	s.Create(MakeSequence(s.Namespace, "fence").Pods("", "fence-first").Pods("", "fence-second").Obj())
	s.Create(pod("fence-second"), pod("fence-first"))
	s.Await("the fence to be placed", func() bool {
		second := &corev1.Pod{}
		require.NoError(s, s.API.Get(s.Ctx, s.Key("fence-second"), second))
		return second.Spec.NodeName != ""
	})
}
