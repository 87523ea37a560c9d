package sequentialjob

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// The Go types are those of one release of Kubernetes. What a later one added must reach the API server.
func TestJobsHaveFieldsThatGoTypesDoNotHave(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want map[string]string // by path in the pod's spec; empty: the Job is as it was
	}{
		"nothing else": {
			spec: `{containers: [{name: a, image: i}, {name: b, image: i, args: [x], resources: {limits: {cpu: 1000m}}}],
				template: {spec: {restartPolicy: "", containers: null, volumes: [{name: v, emptyDir: {}}]}}}`,
		},
		"a field of the pod": {
			spec: `{containers: [{name: a, image: i}, {name: b, image: i}], template: {spec: {later: {x: [1]}}}}`,
			want: map[string]string{"later": `{"x":[1]}`, "restartPolicy": `"Never"`},
		},
		"a field deep inside": {
			spec: `{containers: [{name: a, image: i}, {name: b, image: i}], template: {spec: {restartPolicy: OnFailure,
				initContainers: [{name: c}, {name: d, securityContext: {runAsUser: 5, later: true}}], volumes: [{name: v, later: {}}]}}}`,
			want: map[string]string{
				"initContainers": `[{"name":"c","resources":{}},{"name":"d","resources":{},"securityContext":{"later":true,"runAsUser":5}}]`,
				"volumes":        `[{"later":{},"name":"v"}]`, "restartPolicy": `"OnFailure"`,
			},
		},
		"a field of the step": {
			spec: `{containers: [{name: a, image: i, other: 1}, {name: b, image: i, args: [x], command: [], later: 1}]}`,
			want: map[string]string{
				"containers": `[{"args":["x"],"command":["sh","-c"],"image":"i","later":1,"name":"b","resources":{}}]`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			stored := newUnstructured()
			stored.SetName("etl")
			var spec map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(tc.spec), &spec))
			stored.Object["spec"] = spec
			object, unreadable := decode(stored)
			require.Empty(t, unreadable)
			job, err := withUnknownFields(newJob(object, 1, jobDeadline{}), stored.Object, 1)
			require.NoError(t, err)
			if len(tc.want) == 0 {
				assert.Nil(t, job)
				return
			}
			require.NotNil(t, job)
			for path, want := range tc.want {
				got, _, err := unstructured.NestedFieldNoCopy(job.Object, "spec", "template", "spec", path)
				require.NoError(t, err)
				text, err := yaml.Marshal(got)
				require.NoError(t, err)
				assert.YAMLEq(t, want, string(text), path)
			}
		})
	}
}

// What no release knows is a mistake, and no step may do its work before it is found.
func TestAFieldThatTheAPIServerDoesNotKnowIsFinal(t *testing.T) {
	unknown := apierrors.NewBadRequest(`Job in version "v1" cannot be handled as a Job: strict decoding error: ` +
		`unknown field "spec.template.spec.containers[0].imagee"`)
	q := newOfThree(t, map[string]error{"s-00-1": unknown})
	q.pass(0)
	status := q.status("data", "s-00")
	assert.Equal(t, v1alpha1.PhaseFailed, status.Phase)
	assert.Equal(t, v1alpha1.ReasonInvalidSpec, failureReason(status))
	assert.Contains(t, status.Message, `step 2/3 "b": no step was started`)
	assert.Contains(t, status.Message, `unknown field "spec.template.spec.containers[0].imagee"`)
	assert.Empty(t, q.tries)
	assert.True(t, isFieldError(unknown), "also without a dry run")
}
