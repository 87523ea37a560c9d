package lint

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The definition keeps fields that it does not have. Lint says which of them no pod has.
func TestMisspelledFieldsOfStepsAndTemplatesAreNamed(t *testing.T) {
	definitions, err := NewDefinitions()
	require.NoError(t, err)
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(`{apiVersion: batch.example.com/v1alpha1, kind: SequentialJob, metadata: {name: etl}, spec: {
		containers: [{name: a, image: i, imagee: i}], suspendd: true,
		template: {spec: {volumes: [{name: v, emptyDir: {mediun: Memory}}], restartPolicy: Never}}}}`), &object.Object))
	errs, _ := definitions.Check(t.Context(), object)
	var got []string
	for _, err := range errs {
		got = append(got, err.Error())
	}
	assert.ElementsMatch(t, []string{
		"spec.suspendd: Forbidden: there is no such field: did you mean suspend?",
		"spec.containers[0].imagee: Forbidden: there is no such field: correct its name, or remove it",
		"spec.template.spec.volumes[0].emptyDir.mediun: Forbidden: there is no such field: correct its name, or remove it",
	}, got)
}
