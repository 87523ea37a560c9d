package lint

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// An error about a field or its value says what to write instead, and is silent where nobody knows.
func TestErrorsSayWhatToWriteInstead(t *testing.T) {
	definitions, err := NewDefinitions()
	require.NoError(t, err)
	const valid = "podSelector: {}"
	tests := map[string]struct{ group, want string }{
		"the field of a Service": {
			"selector: {}",
			"selector: Forbidden: there is no such field: did you mean podSelector?",
		},
		"a letter too few": {
			"podSelecto: {}",
			"podSelecto: Forbidden: there is no such field: did you mean podSelector?",
		},
		"another case": {
			valid + ", dependson: []",
			"dependson: Forbidden: there is no such field: did you mean dependsOn?",
		},
		"a number of seconds under its name": {
			valid + ", timeoutSeconds: 90",
			"timeoutSeconds: Forbidden: there is no such field: did you mean timeout: 90s?",
		},
		"a field of the parent": {
			valid + ", dryRun: true",
			"dryRun: Forbidden: there is no such field here: it belongs to spec",
		},
		"a similar field that is set already": {
			valid + ", podSelectors: {}",
			"podSelectors: Forbidden: there is no such field: correct its name, or remove it",
		},
		"a field that resembles none": {
			valid + ", colour: red",
			"colour: Forbidden: there is no such field: correct its name, or remove it",
		},
		"a field of a selector": {
			"podSelector: {matchLabel: {a: b}}",
			"podSelector.matchLabel: Forbidden: there is no such field: did you mean matchLabels?",
		},
		"a duration without a unit": {
			valid + ", waitDuration: 30",
			"waitDuration: Invalid value: 30: must be a duration with its unit: write 30s",
		},
		"a duration in quotes without a unit": {
			valid + `, waitDuration: "30"`,
			`waitDuration: Invalid value: "30": must be a duration of 0s or more, such as 30s or 1h30m: write 30s`,
		},
		"a duration in words": {
			valid + ", timeout: 5 minutes",
			`timeout: Invalid value: "5 minutes": must be a duration of 0s or more, such as 30s or 1h30m: write 5m`,
		},
		"a duration in days": {
			valid + ", timeout: 2d",
			`timeout: Invalid value: "2d": must be a duration of 0s or more, such as 30s or 1h30m: write 48h`,
		},
		"a duration that nobody understands": {
			valid + ", waitDuration: soon",
			`waitDuration: Invalid value: "soon": must be a duration of 0s or more, such as 30s or 1h30m`,
		},
		"a number as the value of a label": {
			`podSelector: {matchLabels: {app.kubernetes.io/version: 2}}`,
			`podSelector.matchLabels.app.kubernetes.io/version: Invalid value: 2: must be a string: write "2", in quotes`,
		},
		"true as the value of a label": {
			"podSelector: {matchLabels: {db: true}}",
			`podSelector.matchLabels.db: Invalid value: true: must be a string: write "true", in quotes`,
		},
		"true in quotes": {
			valid + `, skip: "true"`,
			`skip: Invalid value: "true": must be true or false, without quotes`,
		},
		"a number in quotes": {
			valid + `, expectedPods: "3"`,
			`expectedPods: Invalid value: "3": must be a number: write 3, without quotes`,
		},
		"one name where a list of names belongs": {"pods: db-0", `pods: Invalid value: "db-0": must be a list: write [db-0]`},
		"a type that is quite another": {
			"podSelector: []",
			`podSelector: Invalid value: "array": spec.podGroups[0].podSelector in body must be of type object: "array"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte("apiVersion: scheduling.example.com/v1alpha1\nkind: PodSequence\nmetadata: {name: shop}\n"+
				"spec: {podGroups: [{"+test.group+"}]}\n"), &object.Object))
			errs, _ := definitions.Check(t.Context(), normal(t, object))
			var said []string
			for _, err := range errs {
				said = append(said, err.Error())
			}
			assert.Contains(t, said, "spec.podGroups[0]."+test.want)
		})
	}
}

// normal returns the object with the types of numbers that files have when they are read.
func normal(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	text, err := object.MarshalJSON()
	require.NoError(t, err)
	read := &unstructured.Unstructured{}
	require.NoError(t, read.UnmarshalJSON(text))
	return read
}

// A path that leads nowhere, and a value without a schema, leave an error as it is.
func TestErrorsThatNobodyCanExplainStay(t *testing.T) {
	for _, path := range []string{"spec.none", "spec[0]", "spec.list[7]", "spec.list[x]", "spec.list.name", "spec.list[0]"} {
		err := field.TypeInvalid(field.NewPath(path), "string", "is what it is")
		explainValue(place{value: map[string]any{"spec": map[string]any{"list": []any{"a"}}}}, err)
		assert.Equal(t, "is what it is", err.Detail, path)
	}
}

func TestDistance(t *testing.T) {
	for words, want := range map[[2]string]int{
		{"", ""}: 0, {"pods", ""}: 4, {"", "pods"}: 4, {"pods", "pods"}: 0, {"pod", "pods"}: 1, {"spot", "pods"}: 3, {"timeout", "timeuot"}: 1, {"shop", "shpo"}: 1,
		{"kitten", "sitting"}: 3,
	} {
		assert.Equal(t, want, distance(words[0], words[1]), words)
	}
}
