package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// ruleTest is a spec that somebody writes.
type ruleTest struct {
	spec string
	want []string // parts of the message; none: accepted
}

// checkRules creates objects of a kind with these specs, and compares what the API server says.
func checkRules(t *testing.T, kind schema.GroupVersionKind, tests map[string]ruleTest) {
	s := newStory(t)
	var options []client.CreateOption
	if kind == v1alpha1.ClusterPodSequenceKind {
		options = append(options, client.DryRunAll) // one that is stored might hold pods of other tests
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			var spec map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(test.spec), &spec))
			object.SetGroupVersionKind(kind)
			object.SetNamespace(s.Namespace)
			if kind == v1alpha1.ClusterPodSequenceKind {
				object.SetNamespace("")
			}
			object.SetGenerateName("valid-")
			require.NoError(t, unstructured.SetNestedMap(object.Object, spec, "spec"))

			strict := client.WithFieldValidation(s.API, metav1.FieldValidationStrict)
			err := strict.Create(s.Ctx, object, options...)
			if apierrors.IsTimeout(err) { // the largest take seconds, and more than a request may beside many other tests
				err = strict.Create(s.Ctx, object, options...)
			}
			if len(test.want) == 0 {
				require.NoError(t, err)
				if len(options) == 0 {
					require.NoError(t, s.API.Delete(s.Ctx, object))
				}
				return
			}
			require.Error(t, err)
			for _, part := range test.want {
				assert.ErrorContains(t, err, part)
			}
		})
	}
}

// Every rule on what a PodSequence may say, by the API server alone. A message names the field and the fix.
func TestValidation(t *testing.T) {
	t.Parallel()
	tests := map[string]ruleTest{
		"groups by name and by label": {
			spec: `{podGroups: [{name: One, pods: [a, b]}, {podSelector: {matchLabels: {tier: app}}}, {podSelector: {}}]}`,
		},
		"every field set": {
			spec: `{scope: Cluster, enforcementMode: Continuous, suspend: false, namespace: shop, schedulingGateName: podsequence.example.com/own, podGroups: [
				{podSelector: {matchLabels: {example.com/tier: ""}, matchExpressions: [
					{key: a, operator: In, values: [b]}, {key: a, operator: NotIn, values: [b]},
					{key: a, operator: Exists}, {key: a, operator: DoesNotExist}]}}]}`,
		},
		"a name in two groups is reported in status, not refused": {
			spec: `{podGroups: [{pods: [a]}, {pods: [a]}]}`,
		},
		"the largest sequence": {
			spec: fmt.Sprintf(`{podGroups: [%s]}`, repeat(64, func(int) string {
				return fmt.Sprintf(`{pods: [%s]}`, repeat(256, func(i int) string { return fmt.Sprintf("pod-%d", i) }))
			})),
		},
		"no groups":             {spec: `{}`, want: []string{"spec.podGroups: Required value"}},
		"an empty list of them": {spec: `{podGroups: []}`, want: []string{"spec.podGroups", "at least 1 items"}},
		"too many of them": {
			spec: fmt.Sprintf(`{podGroups: [%s]}`, repeat(65, func(int) string { return `{pods: [a]}` })),
			want: []string{"spec.podGroups: Too many", "at most 64 items"},
		},
		"neither pods nor podSelector": {
			spec: `{podGroups: [{name: Database}]}`,
			want: []string{"spec.podGroups[0]", "set pods, podSelector, objects or nodeConditions"},
		},
		"both pods and podSelector": {
			spec: `{podGroups: [{pods: [a], podSelector: {}}]}`,
			want: []string{"spec.podGroups[0]", "set only one of pods and podSelector"},
		},
		"an empty list of pods alone is as good as none": {
			spec: `{podGroups: [{pods: []}]}`, want: []string{"spec.podGroups[0]", "set pods, podSelector, objects or nodeConditions"},
		},
		"empty means absent, as templates of charts write it": {
			spec: `{namespace: "", schedulingGateName: "", podGroups: [
				{name: "", pods: [], podSelector: {}, waitDuration: "", timeout: "", nodeSelector: {}, expectedPods: 2}, {pods: [a], podSelector: null}]}`,
		},
		"an empty time-out is none": {
			spec: `{podGroups: [{pods: [a], timeout: "", onTimeout: Continue}]}`,
			want: []string{"spec.podGroups[0]", "onTimeout needs timeout"},
		},
		"an empty pod name": {
			spec: `{podGroups: [{pods: [""]}]}`, want: []string{"spec.podGroups[0].pods[0]", "at least 1 chars long"},
		},
		"a pod name that is too long": {
			spec: fmt.Sprintf(`{podGroups: [{pods: [%s]}]}`, strings.Repeat("a", 254)),
			want: []string{"spec.podGroups[0].pods[0]: Too long", "253"},
		},
		"the same pod name twice in a group": {
			spec: `{podGroups: [{pods: [a, a]}]}`, want: []string{"spec.podGroups[0].pods[1]: Duplicate value"},
		},
		"too many pod names": {
			spec: fmt.Sprintf(`{podGroups: [{pods: [%s]}]}`, repeat(257, func(i int) string { return fmt.Sprintf("p%d", i) })),
			want: []string{"spec.podGroups[0].pods: Too many", "at most 256 items"},
		},
		"a group name that is too long": {
			spec: fmt.Sprintf(`{podGroups: [{name: %s, pods: [a]}]}`, strings.Repeat("a", 64)),
			want: []string{"spec.podGroups[0].name: Too long", "63"},
		},
		"an unknown scope": {
			spec: `{scope: Galaxy, podGroups: [{pods: [a]}]}`, want: []string{"spec.scope: Unsupported value", `"Cluster"`},
		},
		"a namespace that is none": {
			spec: `{namespace: Not_A_Namespace, podGroups: [{pods: [a]}]}`,
			want: []string{"spec.namespace", "must be the name of a namespace"},
		},
		"a gate name that is none": {
			spec: `{schedulingGateName: "not a gate", podGroups: [{pods: [a]}]}`,
			want: []string{"spec.schedulingGateName", "must be a qualified name"},
		},
		"an unknown operator": {
			spec: `{podGroups: [{podSelector: {matchExpressions: [{key: a, operator: Near, values: [b]}]}}]}`,
			want: []string{"spec.podGroups[0].podSelector.matchExpressions[0].operator: Unsupported value", `"DoesNotExist"`},
		},
		"In without values": {
			spec: `{podGroups: [{podSelector: {matchExpressions: [{key: a, operator: In}]}}]}`,
			want: []string{"spec.podGroups[0].podSelector.matchExpressions[0]", "values must be non-empty for the operators In and NotIn"},
		},
		"Exists with values": {
			spec: `{podGroups: [{podSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}]}`,
			want: []string{"spec.podGroups[0].podSelector.matchExpressions[0]", "absent for Exists and DoesNotExist"},
		},
		"an expression without a key": {
			spec: `{podGroups: [{podSelector: {matchExpressions: [{operator: Exists}]}}]}`,
			want: []string{"spec.podGroups[0].podSelector.matchExpressions[0].key: Required value"},
		},
		"an expression whose key is no label key": {
			spec: `{podGroups: [{podSelector: {matchExpressions: [{key: "a key", operator: Exists}]}}]}`,
			want: []string{"spec.podGroups[0].podSelector.matchExpressions[0].key", "must be a label key"},
		},
		"a label key that is none": {
			spec: `{podGroups: [{podSelector: {matchLabels: {"a key": b}}}]}`,
			want: []string{"spec.podGroups[0].podSelector.matchLabels", "every key must be a label key"},
		},
		"a label value that is none": {
			spec: `{podGroups: [{podSelector: {matchLabels: {a: "b c"}}}]}`,
			want: []string{"spec.podGroups[0].podSelector.matchLabels", "every value must be a label value"},
		},
		"too many expressions": {
			spec: fmt.Sprintf(`{podGroups: [{podSelector: {matchExpressions: [%s]}}]}`,
				repeat(33, func(int) string { return `{key: a, operator: Exists}` })),
			want: []string{"spec.podGroups[0].podSelector.matchExpressions: Too many", "at most 32 items"},
		},
		"every field of node scope": {
			spec: `{scope: Node, enforcementMode: Continuous, suspend: true, podGroups: [
				{podSelector: {}, nodeSelector: {example.com/gpu: "true"}, requiredStatus: Ready, minAvailable: 50%,
				 waitDuration: 1h30m, timeout: 90s, onTimeout: Continue}]}`,
		},
		"minAvailable by number, no wait at all, and what Complete means": {
			spec: `{enforcementMode: BootstrapOnly, podGroups: [
				{podSelector: {}, requiredStatus: Complete, minAvailable: 0, waitDuration: "0", timeout: 1.5h, onTimeout: Fail},
				{pods: [a], minAvailable: 100%, waitDuration: 0s}]}`,
		},
		"nodeSelector in cluster scope": {
			spec: `{podGroups: [{pods: [a], nodeSelector: {gpu: "true"}}]}`,
			want: []string{"spec: Invalid value", "podGroups[].nodeSelector is only for scope Node", "remove it, or set scope to Node"},
		},
		"a node selector whose key is no label key": {
			spec: `{scope: Node, podGroups: [{pods: [a], nodeSelector: {"a key": b}}]}`,
			want: []string{"spec.podGroups[0].nodeSelector", "every key must be a label key"},
		},
		"BootstrapOnly in node scope": {
			spec: `{scope: Node, enforcementMode: BootstrapOnly, podGroups: [{pods: [a]}]}`,
			want: []string{"enforcementMode must be Continuous for scope Node"},
		},
		"an unknown mode": {
			spec: `{enforcementMode: Sometimes, podGroups: [{pods: [a]}]}`,
			want: []string{"spec.enforcementMode: Unsupported value", `"Continuous"`},
		},
		"an unknown required status": {
			spec: `{podGroups: [{pods: [a], requiredStatus: Running}]}`,
			want: []string{"spec.podGroups[0].requiredStatus: Unsupported value", `"Complete"`, `"Started"`},
		},
		"that a member must have started": {spec: `{podGroups: [{pods: [a], requiredStatus: Started}, {podSelector: {}}]}`},
		"a condition that members must have": {
			spec: `{podGroups: [{pods: [a], requiredCondition: example.com/Reachable}, {podSelector: {}, requiredStatus: Ready, requiredCondition: ContainersReady},
				{podSelector: {}, requiredCondition: "", requiredStatus: Started, waitDuration: 5s}]}`,
		},
		"a condition whose type is none": {
			spec: `{podGroups: [{pods: [a], requiredCondition: "is reachable"}]}`,
			want: []string{"spec.podGroups[0].requiredCondition", "must be the type of a pod condition, such as example.com/Reachable"},
		},
		"a condition of 317 characters": {
			spec: `{podGroups: [{pods: [a], requiredCondition: ` + strings.Repeat("a", 317) + `}]}`,
			want: []string{"spec.podGroups[0].requiredCondition", "316"},
		},
		"a condition beside that members must have started": {
			spec: `{podGroups: [{pods: [a], requiredCondition: example.com/Reachable, requiredStatus: Started}]}`,
			want: []string{"spec.podGroups[0]", "requiredCondition takes the place of requiredStatus Ready", "remove requiredStatus"},
		},
		"a condition beside that members must complete": {
			spec: `{podGroups: [{pods: [a], requiredCondition: example.com/Reachable, requiredStatus: Complete}]}`,
			want: []string{"spec.podGroups[0]", "requiredCondition takes the place of requiredStatus Ready", "remove requiredStatus"},
		},
		"how long members must have been ready that must have a condition": {
			spec: `{podGroups: [{pods: [a], requiredCondition: example.com/Reachable, minReadySeconds: 5}]}`,
			want: []string{"spec.podGroups[0]", "minReadySeconds is only for requiredStatus Ready", "waitDuration"},
		},
		"how long members must have been ready that must have started": {
			spec: `{podGroups: [{pods: [a], requiredStatus: Started, minReadySeconds: 5}]}`,
			want: []string{"spec.podGroups[0]", "minReadySeconds is only for requiredStatus Ready", "remove it"},
		},
		"a percentage over 100": {
			spec: `{podGroups: [{pods: [a], minAvailable: 101%}]}`,
			want: []string{"spec.podGroups[0].minAvailable", "must be a number from 0 to 100000, or a percentage from 0% to 100%"},
		},
		"a count in words": {
			spec: `{podGroups: [{pods: [a], minAvailable: some}]}`,
			want: []string{"spec.podGroups[0].minAvailable", "must be a number from 0 to 100000, or a percentage from 0% to 100%"},
		},
		"a negative count": {
			spec: `{podGroups: [{pods: [a], minAvailable: -1}]}`,
			want: []string{"spec.podGroups[0].minAvailable", "must be a number from 0 to 100000"},
		},
		"a wait that is no duration": {
			spec: `{podGroups: [{pods: [a], waitDuration: soon}]}`,
			want: []string{"spec.podGroups[0].waitDuration", "must be a duration of 0s or more, such as 30s"},
		},
		"a wait in days": {
			spec: `{podGroups: [{pods: [a], waitDuration: 1d}]}`,
			want: []string{"spec.podGroups[0].waitDuration", "must be a duration of 0s or more, such as 30s"},
		},
		"a negative wait": {
			spec: `{podGroups: [{pods: [a], waitDuration: -1s}]}`,
			want: []string{"spec.podGroups[0].waitDuration", "must be a duration of 0s or more, such as 30s"},
		},
		"a negative time-out": {
			spec: `{podGroups: [{pods: [a], timeout: -1s}]}`,
			want: []string{"spec.podGroups[0].timeout", "must be a duration of 0s or more"},
		},
		"a time-out of nothing": {
			spec: `{podGroups: [{pods: [a], timeout: 0s}]}`,
			want: []string{"spec.podGroups[0].timeout", "must be longer than 0s"},
		},
		"onTimeout without timeout": {
			spec: `{podGroups: [{pods: [a], onTimeout: Continue}]}`,
			want: []string{"spec.podGroups[0]", "onTimeout needs timeout"},
		},
		"an unknown policy on time-out": {
			spec: `{podGroups: [{pods: [a], timeout: 1m, onTimeout: Panic}]}`,
			want: []string{"spec.podGroups[0].onTimeout: Unsupported value", `"Continue"`},
		},
	}
	checkRules(t, v1alpha1.PodSequenceKind, tests)
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"podGroups": []any{map[string]any{"pods": []any{"a"}}}},
	}}
	object.SetGroupVersionKind(v1alpha1.PodSequenceKind)
	object.SetNamespace(s.Namespace)
	object.SetName("defaults")
	s.Create(object)
	spec := s.getSequence("defaults").Spec
	assert.Equal(t, v1alpha1.ScopeCluster, spec.Scope)
	assert.Equal(t, v1alpha1.DefaultSchedulingGateName, spec.SchedulingGateName)
	assert.Equal(t, v1alpha1.RequireReady, spec.PodGroups[0].RequiredStatus)
	assert.Empty(t, spec.EnforcementMode, "its default depends on the scope: we fill it in when we read it")
	assert.Equal(t, v1alpha1.BootstrapOnly, spec.Mode())
}

func repeat(n int, item func(int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
	}
	return strings.Join(items, ", ")
}
