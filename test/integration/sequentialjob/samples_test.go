package sequentialjob

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/controlplane"
	. "example.com/podsequence/internal/testing"
	"example.com/podsequence/manifests"
)

const readyAfter = "sandbox.podsequence.example.com/ready-after"

// createSample creates what a sample has, after a change to each object.
func (s *story) createSample(file string, change func(*unstructured.Unstructured)) {
	s.Helper()
	strict := client.WithFieldValidation(api, metav1.FieldValidationStrict)
	for _, object := range s.sample(file) {
		object.SetNamespace(s.namespace)
		change(object)
		require.NoError(s, strict.Create(s.ctx, object), "create %s of %s", object.GetKind(), file)
	}
}

func unchanged(*unstructured.Unstructured) {}

// stepsRunUntilTold has the pods of a SequentialJob wait for the test to end them, with another annotation or none.
func stepsRunUntilTold(t *testing.T, object *unstructured.Unstructured, others ...string) {
	t.Helper()
	if object.GetKind() != v1alpha1.SequentialJobKind.Kind {
		return
	}
	for _, annotation := range append(others, completeAfter) {
		require.NoError(t, unstructured.SetNestedField(object.Object, "never", "spec", "template", "metadata", "annotations", annotation))
	}
}

func (s *story) sample(file string) []*unstructured.Unstructured {
	s.Helper()
	content, err := manifests.FS.ReadFile("samples/" + file)
	require.NoError(s, err)
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLToJSONDecoder(bytes.NewReader(content))
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return objects
		} else {
			require.NoError(s, err)
		}
		object := &unstructured.Unstructured{}
		require.NoError(s, object.UnmarshalJSON(raw))
		objects = append(objects, object)
	}
}

func TestEverySampleSucceedsAsItIs(t *testing.T) {
	files, err := fs.Glob(manifests.FS, "samples/sequentialjob-*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		file = path.Base(file)
		t.Run(file, func(t *testing.T) {
			s := newStory(t)
			s.createSample(file, unchanged)
			var all v1alpha1.SequentialJobList
			require.NoError(t, api.List(s.ctx, &all, client.InNamespace(s.namespace)))
			require.NotEmpty(t, all.Items)
			for i := range all.Items {
				s.awaitPhase(all.Items[i].Name, v1alpha1.PhaseSucceeded)
			}
		})
	}
}

func TestStepsWaitForAGroupOfAPodSequence(t *testing.T) {
	s := newStory(t)
	s.createSample("sequentialjob-after-database.yaml", func(object *unstructured.Unstructured) {
		if object.GetKind() == "Pod" {
			object.SetAnnotations(map[string]string{readyAfter: "never"})
		}
		stepsRunUntilTold(t, object)
	})
	s.await("the first step's pod to be held", func() bool {
		pods := s.pods("import", 0)
		return len(pods) == 1 && isHeld(pods[0])
	})
	s.fenceScheduler()
	assert.Empty(t, s.pods("import", 0)[0].Spec.NodeName)

	db := &corev1.Pod{}
	require.NoError(t, api.Get(s.ctx, s.key("import-db"), db))
	s.patch(db, map[string]any{"metadata": map[string]any{"annotations": map[string]string{readyAfter: "0s"}}})
	s.complete("import", 0)
	s.complete("import", 1)
	s.awaitPhase("import", v1alpha1.PhaseSucceeded)
}

func TestAGroupOfAPodSequenceWaitsForTheLastStep(t *testing.T) {
	s := newStory(t)
	s.createSample("sequentialjob-before-application.yaml", func(object *unstructured.Unstructured) {
		stepsRunUntilTold(t, object, readyAfter) // the readiness gate has them so elsewhere
	})
	application := func() corev1.Pod {
		pod := &corev1.Pod{}
		require.NoError(t, api.Get(s.ctx, s.key("migrated-application"), pod))
		return *pod
	}
	s.await("the application to be held", func() bool { return isHeld(application()) })
	s.complete("migration", 0)
	s.awaitRunning("migration", 1)
	s.fenceScheduler()
	assert.Empty(t, application().Spec.NodeName)
	s.complete("migration", 1)
	s.await("the application to be placed", func() bool { return application().Spec.NodeName != "" })
	s.awaitPhase("migration", v1alpha1.PhaseSucceeded)
}

// fenceScheduler returns when our scheduler has acted on everything that happened to pods before: it lets one go because
// of what happens to another later.
func (s *story) fenceScheduler() {
	s.Helper()
	pod := func(name string) *corev1.Pod {
		return st.MakePod().Namespace(s.namespace).Name(name).SchedulerName(controlplane.PodSequenceScheduler).
			Container("example.com/fence").Annotation(readyAfter, "0s").Obj()
	}
	s.create(MakeSequence(s.namespace, "fence").Pods("", "fence-first").Pods("", "fence-second").Obj())
	s.create(pod("fence-second"), pod("fence-first"))
	s.await("the fence to be placed", func() bool {
		second := &corev1.Pod{}
		require.NoError(s, api.Get(s.ctx, s.key("fence-second"), second))
		return second.Spec.NodeName != ""
	})
}

// isHeld tells whether the pod says that it waits for its group.
func isHeld(pod corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonSchedulingGated
		}
	}
	return false
}
