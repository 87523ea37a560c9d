package podgroup

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/manifests"

	. "example.com/podsequence/internal/testing"
)

// sample returns the objects of a sample, for the namespace of the story.
func (s *story) sample(file string) []*unstructured.Unstructured {
	s.Helper()
	content, err := fs.ReadFile(manifests.FS, "samples/"+file)
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
		object.SetNamespace(s.namespace)
		objects = append(objects, object)
	}
}

func (s *story) createSample(file string) {
	s.Helper()
	strict := client.WithFieldValidation(api, "Strict")
	for _, object := range s.sample(file) {
		require.NoError(s, strict.Create(s.ctx, object), "%s of %s", object.GetKind(), file)
	}
}

func TestSamples(t *testing.T) {
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
			s.createSample(file)
			s.awaitLabels(want.group, want.pods)
			assert.Empty(t, s.events("GroupSizeConflict"))
		})
	}
	t.Run("podgroup-coscheduling.yaml", func(t *testing.T) {
		s := newStory(t)
		kind := MakeCoschedulingDefinition()
		s.install(kind, s.coscheduling("other", 1))
		defer s.uninstall(kind)
		s.expect("training", 8)
		for _, object := range s.sample("podgroup-coscheduling.yaml") {
			if object.GetKind() == "Job" { // the scheduler that it names is not here
				unstructured.RemoveNestedField(object.Object, "spec", "template", "spec", "schedulerName")
			}
			s.create(object)
		}
		s.awaitLabels("training", 8)
		assert.Empty(t, s.events("GroupSizeConflict"))
	})
}

// The stage has a cluster of its own, for it would complete the pods of all other tests.
func TestTheStageCompletesGangsAsAWhole(t *testing.T) {
	stage, err := fs.ReadFile(manifests.FS, "samples/podgroup-kwok-stage.yaml")
	require.NoError(t, err)
	o := options(t.TempDir())
	o.Stages = []string{string(stage)}
	ownCluster(t, o)

	s := newStory(t)
	s.create(s.pod("alone", "parted", size("2")))
	s.awaitPhase(corev1.PodRunning, "alone")
	s.createSample("podgroup-job.yaml")
	s.await("the Job to complete", func() bool {
		job := &batchv1.Job{}
		require.NoError(t, api.Get(s.ctx, s.key("training"), job))
		return job.Status.CompletionTime != nil
	})
	assert.Len(t, s.group("training"), 8)
	assert.Equal(t, corev1.PodRunning, s.get("alone").Status.Phase, "the other half of its gang is not there")
}
