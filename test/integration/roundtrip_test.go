package integration

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/manifests"
)

var (
	// definitionBefore is the definition of PodSequences of the release before ClusterPodSequences, and storedBefore are
	// objects that it stored. Neither changes any more.
	//
	//go:embed testdata/stored/podsequences-definition.yaml
	definitionBefore []byte
	//go:embed testdata/stored/podsequences.yaml
	storedBefore []byte
)

// What an earlier release stored reads the same with today's definition, and today's rules accept it. The definitions take
// another group here, because all tests of the cluster use the one that is installed.
func TestStoredObjectsOfTheReleaseBeforeReadTheSame(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	group := s.Namespace + ".example.com"
	today, err := manifests.FS.ReadFile("crds/" + v1alpha1.GroupVersion.Group + "_podsequences.yaml")
	require.NoError(t, err)
	before := definitionFor(t, definitionBefore, group)
	s.Create(before)
	t.Cleanup(func() { assert.NoError(t, s.API.Delete(s.Ctx, before)) })

	var stored []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLToJSONDecoder(bytes.NewReader(storedBefore))
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		object := &unstructured.Unstructured{}
		require.NoError(t, object.UnmarshalJSON(raw))
		object.SetAPIVersion(group + "/v1alpha1")
		object.SetNamespace(s.Namespace)
		status := object.Object["status"]
		s.Await("the definition to be served", func() bool { return s.API.Create(s.Ctx, object) == nil })
		if status != nil {
			object.Object["status"] = status
			require.NoError(t, s.API.Status().Update(s.Ctx, object))
			require.Equal(t, status, object.Object["status"], "the earlier definition must know all of %s", object.GetName())
		}
		stored = append(stored, object)
	}

	require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error { // its conditions are written meanwhile
		found := &apiextensionsv1.CustomResourceDefinition{}
		if err := s.API.Get(s.Ctx, types.NamespacedName{Name: before.Name}, found); err != nil {
			return err
		}
		found.Spec = definitionFor(t, today, group).Spec
		return s.API.Update(s.Ctx, found)
	}))
	s.Await("today's definition to be served", func() bool {
		object := stored[0].DeepCopy()
		object.SetName("today")
		object.SetResourceVersion("")
		require.NoError(t, unstructured.SetNestedField(object.Object, true, "spec", "dryRun"))
		err := s.API.Create(s.Ctx, object, client.DryRunAll)
		known, _, _ := unstructured.NestedBool(object.Object, "spec", "dryRun")
		return err == nil && known
	})
	for _, want := range stored {
		t.Run(want.GetName(), func(t *testing.T) {
			if want.Object["status"] == nil { // a default since then: tools must not take an object without status for ready
				want.Object["status"] = map[string]any{"observedGeneration": int64(-1)}
			}
			got := want.DeepCopy()
			require.NoError(t, s.API.Get(s.Ctx, client.ObjectKeyFromObject(want), got))
			assert.Equal(t, want.Object, got.Object, "read with today's definition")

			var typed v1alpha1.PodSequence
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(got.Object, &typed, true))
			again, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
			require.NoError(t, err)
			assert.Equal(t, want.Object["spec"], again["spec"], "read by our programs and written again")
			assert.Equal(t, want.Object["status"], again["status"], "read by our programs and written again")

			anew := want.DeepCopy()
			anew.SetName(want.GetName() + "-anew")
			anew.SetResourceVersion("")
			require.NoError(t, s.API.Create(s.Ctx, anew, client.DryRunAll), "today's rules must accept what earlier ones did")
			assert.Equal(t, want.Object["spec"], anew.Object["spec"], "written with today's definition")
		})
	}
}

// definitionFor reads a definition of PodSequences, for another group.
func definitionFor(t *testing.T, definition []byte, group string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.UnmarshalStrict(definition, crd))
	crd.Name = strings.Replace(crd.Name, crd.Spec.Group, group, 1)
	crd.Spec.Group = group
	return crd
}
