package sequentialjob

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// Every rule on what a SequentialJob may say, by the API server alone. A message names the field and the fix.
func TestValidation(t *testing.T) {
	const one = `containers: [{name: a, image: i}]`
	tests := map[string]struct {
		spec string
		want []string // parts of the message; none: accepted
	}{
		"containers are all it takes": {spec: `{` + one + `}`},
		"every field set": {
			spec: `{` + one + `, suspend: true, backoffLimit: 0, activeDeadlineSeconds: 1, ttlSecondsAfterFinished: 0, template: {
				metadata: {labels: {a: b}, annotations: {c: d}},
				spec: {restartPolicy: OnFailure, volumes: [{name: v, emptyDir: {}}], serviceAccountName: etl}}}`,
		},
		"a policy for failed pods": {
			spec: `{` + one + `, podFailurePolicy: {rules: [
				{action: Ignore, onPodConditions: [{type: DisruptionTarget}]},
				{action: FailJob, onExitCodes: {containerName: a, operator: In, values: [3, 1]}}]}}`,
		},
		"a policy without rules": {spec: `{` + one + `, podFailurePolicy: {rules: []}}`},
		"a policy with OnFailure": {
			spec: `{` + one + `, podFailurePolicy: {rules: []}, template: {spec: {restartPolicy: OnFailure}}}`,
			want: []string{"spec", "podFailurePolicy must be left out if template.spec.restartPolicy is OnFailure"},
		},
		"a policy that says of no pods": {
			spec: `{` + one + `, podFailurePolicy: {rules: [{action: Ignore}]}}`,
			want: []string{"spec.podFailurePolicy.rules[0]", "exactly one of onExitCodes and onPodConditions is required"},
		},
		"a policy for indices, which steps do not have": {
			spec: `{` + one + `, podFailurePolicy: {rules: [{action: FailIndex, onPodConditions: [{type: DisruptionTarget}]}]}}`,
			want: []string{"spec.podFailurePolicy.rules[0].action", "FailJob"},
		},
		"a policy for containers that succeed": {
			spec: `{` + one + `, podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [0]}}]}}`,
			want: []string{"spec.podFailurePolicy.rules[0].onExitCodes", "values must not contain 0"},
		},
		"empty values, as templated charts write them": {
			spec: `{` + one + `, suspend: null, backoffLimit: null, activeDeadlineSeconds: null, ttlSecondsAfterFinished: null, podFailurePolicy: null,
				template: {metadata: {}, spec: {restartPolicy: "", serviceAccountName: "", nodeSelector: {}, volumes: [], containers: null}}}`,
		},
		"a template without containers":            {spec: `{` + one + `, template: {spec: {restartPolicy: Never}}}`},
		"a template with an empty list of them":    {spec: `{` + one + `, template: {spec: {containers: []}}}`},
		"a template with null, as Go clients send": {spec: `{` + one + `, template: {spec: {containers: null}}}`},
		"sixty-four steps":                         {spec: fmt.Sprintf(`{containers: [%s]}`, containers(64))},

		"no containers":         {spec: `{}`, want: []string{"spec.containers: Required value"}},
		"an empty list of them": {spec: `{containers: []}`, want: []string{"spec.containers", "at least 1 items"}},
		"too many of them": {
			spec: fmt.Sprintf(`{containers: [%s]}`, containers(65)),
			want: []string{"spec.containers: Too many", "at most 64 items"},
		},
		"a name twice": {
			spec: `{containers: [{name: a, image: i}, {name: a, image: i}]}`,
			want: []string{"spec.containers", "names must be unique: give every step its own name"},
		},
		"no name": {spec: `{containers: [{image: i}]}`, want: []string{"spec.containers[0].name: Required value"}},
		"a name that no container can have": {
			spec: `{containers: [{name: A_b, image: i}]}`,
			want: []string{"spec.containers[0]", "name must be up to 63 lower-case letters, digits and '-'"},
		},
		"a name that is too long": {
			spec: fmt.Sprintf(`{containers: [{name: %s, image: i}]}`, strings.Repeat("a", 64)),
			want: []string{"spec.containers[0].name: Too long", "63"},
		},
		"no image": {
			spec: `{containers: [{name: a, image: i}, {name: b}]}`,
			want: []string{"spec.containers[1]", "image is required: say what the step runs"},
		},
		"an empty image": {
			spec: `{containers: [{name: a, image: ""}]}`, want: []string{"spec.containers[0]", "image is required"},
		},
		"a negative backoffLimit": {
			spec: `{` + one + `, backoffLimit: -1}`, want: []string{"spec.backoffLimit", "greater than or equal to 0"},
		},
		"no time at all": {
			spec: `{` + one + `, activeDeadlineSeconds: 0}`,
			want: []string{"spec.activeDeadlineSeconds", "greater than or equal to 1"},
		},
		"more time than can be counted": {
			spec: `{` + one + `, activeDeadlineSeconds: 2147483648}`,
			want: []string{"spec.activeDeadlineSeconds", "less than or equal to 2147483647"},
		},
		"a negative time to live": {
			spec: `{` + one + `, ttlSecondsAfterFinished: -1}`,
			want: []string{"spec.ttlSecondsAfterFinished", "greater than or equal to 0"},
		},
		"steps that never end": {
			spec: `{` + one + `, template: {spec: {restartPolicy: Always}}}`,
			want: []string{"spec", "template.spec.restartPolicy must be Never or OnFailure"},
		},
		"containers in the template": {
			spec: `{` + one + `, template: {spec: {containers: [{name: b, image: i}]}}}`,
			want: []string{"spec", "template.spec.containers must be left out: list the steps in spec.containers"},
		},
	}
	s := newStory(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := s.API.Create(s.Ctx, s.fromYAML("", test.spec), client.DryRunAll)
			expect(t, err, test.want)
		})
	}
}

// Steps and template stay as they were created; in any order that is not the same is another.
func TestImmutability(t *testing.T) {
	const before = `containers: [{name: a, image: i, env: [{name: A}, {name: B}]}, {name: b, image: i}]`
	const template = `template: {metadata: {labels: {a: b}}, spec: {initContainers: [{name: a, image: i}, {name: b, image: i}]}}`
	containers := []string{"spec.containers", "containers are immutable: delete the SequentialJob and create another"}
	templates := []string{"spec", "template is immutable: delete the SequentialJob and create another"}
	tests := map[string]struct {
		before, after string
		want          []string
	}{
		"what may change": {
			before: before, after: before + `, suspend: false, backoffLimit: 1, activeDeadlineSeconds: 9, ttlSecondsAfterFinished: 9`,
		},
		"another image":              {before: before, after: strings.Replace(before, "image: i", "image: j", 1), want: containers},
		"one step more":              {before: before, after: `containers: [{name: a, image: i}]`, want: containers},
		"steps in another order":     {before: `containers: [{name: a, image: i}, {name: b, image: i}]`, after: `containers: [{name: b, image: i}, {name: a, image: i}]`, want: containers},
		"variables in another order": {before: before, after: strings.Replace(before, "{name: A}, {name: B}", "{name: B}, {name: A}", 1), want: containers},
		"another template":           {before: before + ", " + template, after: before + ", " + strings.Replace(template, "{a: b}", "{a: c}", 1), want: templates},
		"a template more":            {before: before, after: before + ", " + template, want: templates},
		"a template less":            {before: before + ", " + template, after: before, want: templates},
		"init containers in another order": {
			before: before + ", " + template,
			after:  before + ", " + strings.Replace(template, "[{name: a, image: i}, {name: b, image: i}]", "[{name: b, image: i}, {name: a, image: i}]", 1),
			want:   templates,
		},
	}
	s := newStory(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := s.fromYAML("", test.before+", suspend: true")
			require.NoError(t, s.API.Create(s.Ctx, object))
			changed := s.fromYAML(object.GetName(), test.after)
			current := &v1alpha1.SequentialJob{}
			var err error
			s.Await("no write of status in between", func() bool {
				require.NoError(t, s.API.Get(s.Ctx, client.ObjectKeyFromObject(object), current))
				changed.SetResourceVersion(current.ResourceVersion)
				err = s.API.Update(s.Ctx, changed, client.DryRunAll)
				return !apierrors.IsConflict(err)
			})
			expect(t, err, test.want)
		})
	}
}

func (s *story) fromYAML(name, spec string) *unstructured.Unstructured {
	s.Helper()
	if !strings.HasPrefix(spec, "{") {
		spec = "{" + spec + "}"
	}
	var content map[string]any
	require.NoError(s, yaml.Unmarshal([]byte(spec), &content))
	object := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	object.SetGroupVersionKind(v1alpha1.SequentialJobKind)
	object.SetNamespace(s.Namespace)
	object.SetName(name)
	if name == "" {
		object.SetGenerateName("valid-")
	}
	return object
}

func expect(t *testing.T, err error, want []string) {
	t.Helper()
	if len(want) == 0 {
		require.NoError(t, err)
		return
	}
	require.Error(t, err)
	for _, part := range want {
		assert.ErrorContains(t, err, part)
	}
}

func containers(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf("{name: step-%d, image: i}", i)
	}
	return strings.Join(items, ", ")
}
