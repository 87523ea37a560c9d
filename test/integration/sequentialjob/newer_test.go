package sequentialjob

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// The definition keeps fields of steps and of the template that it does not know: later releases of Kubernetes may. Whether the API
// server does, it says of the Jobs before the first of them is created.
func TestAMisspelledFieldIsKeptAndReportedBeforeTheFirstStep(t *testing.T) {
	s := newStory(t)
	for name, test := range map[string]struct {
		spec string
		kept []string
		want string
	}{
		"in-the-template": {
			spec: `{containers: [{name: a, image: i}, {name: b, image: i}], template: {spec: {nodeSelectr: a}}}`,
			kept: []string{"template", "spec", "nodeSelectr"}, want: `unknown field "spec.template.spec.nodeSelectr"`,
		},
		"deep-inside": {
			spec: `{containers: [{name: a, image: i}, {name: b, image: i}], template: {spec: {affinity: {podAfinity: a}}}}`,
			kept: []string{"template", "spec", "affinity", "podAfinity"}, want: `unknown field "spec.template.spec.affinity.podAfinity"`,
		},
		"in-a-later-step": {
			spec: `{containers: [{name: a, image: i}, {name: b, image: i, imagePullPolcy: Always}]}`,
			want: `step 2/2 "b": no step was started, because the Job of this one is wrong`,
		},
		"in-the-only-step": {
			spec: `{containers: [{name: a, image: i, securityContext: {runAsUsr: 5}}]}`,
			want: `unknown field "spec.template.spec.containers[0].securityContext.runAsUsr"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s.Create(s.fromYAML(name, test.spec))
			object := s.awaitPhase(name, v1alpha1.PhaseFailed)
			assert.Equal(t, v1alpha1.ReasonInvalidSpec, object.Status.Progress.FailureReason)
			assert.Contains(t, object.Status.Message, test.want)
			assert.Empty(t, s.jobs())
			if test.kept != nil {
				stored := s.fromYAML(name, test.spec)
				require.NoError(t, s.API.Get(s.Ctx, s.Key(name), stored))
				value, _, err := unstructured.NestedString(stored.Object, append([]string{"spec"}, test.kept...)...)
				require.NoError(t, err)
				assert.Equal(t, "a", value)
			}
		})
	}
}

// Defaults of what the definition says nothing else of are in it all the same: without them, what is stored would differ from its
// manifest, and what differs is refused.
func TestApplyingTheSameManifestOnceMoreChangesNothing(t *testing.T) {
	s := newStory(t)
	const spec = `{suspend: true, containers: [{name: a, image: i, ports: [{containerPort: 1}]}], template: {spec: {
		initContainers: [{name: b, image: i, ports: [{containerPort: 2}], startupProbe: {grpc: {port: 2}}}],
		volumes: [{name: v, iscsi: {targetPortal: p, iqn: q, lun: 1}}]}}}`
	apply := func(change func(*unstructured.Unstructured)) error {
		object := s.fromYAML("etl", spec)
		change(object)
		return s.API.Apply(s.Ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"))
	}
	unchanged := func(*unstructured.Unstructured) {}
	require.NoError(t, apply(unchanged))
	require.NoError(t, apply(unchanged))
	s.awaitPhase("etl", v1alpha1.PhaseSuspended)

	stored := s.fromYAML("etl", spec)
	require.NoError(t, s.API.Get(s.Ctx, s.Key("etl"), stored))
	replacement := s.fromYAML("etl", spec)
	replacement.SetResourceVersion(stored.GetResourceVersion())
	require.NoError(t, s.API.Update(s.Ctx, replacement))
	assert.Equal(t, stored.GetGeneration(), replacement.GetGeneration())

	for _, path := range [][]string{{"template", "spec", "later"}, {"template", "spec", "securityContext", "later"}, {"template", "spec", "affinity", "later"}} {
		assert.ErrorContains(t, apply(func(object *unstructured.Unstructured) {
			require.NoError(t, unstructured.SetNestedField(object.Object, "x", append([]string{"spec"}, path...)...))
		}), "template is immutable", "%v", path)
	}
	assert.ErrorContains(t, apply(func(object *unstructured.Unstructured) {
		object.Object["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["later"] = "x"
	}), "containers are immutable")
}
