package controlplane

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/manifests"
)

// warnings is the policy that warns, evaluated as an API server does.
type warnings struct {
	*testing.T
	policy admissionv1.ValidatingAdmissionPolicy
	env    *cel.Env
	cost   uint64 // of all expressions together
}

func newWarnings(t *testing.T) *warnings {
	t.Helper()
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: environment.DefaultCompatibilityVersion(), EnvOptions: []cel.EnvOption{
			cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("variables", cel.DynType),
		},
	})
	require.NoError(t, err)
	w := &warnings{T: t}
	w.env, err = set.Env(environment.StoredExpressions)
	require.NoError(t, err)
	objects, err := renderManifests(manifests.FS, "default")
	require.NoError(t, err)
	for _, object := range objects {
		switch object.GetKind() + " " + object.GetName() {
		case "ValidatingAdmissionPolicy podsequence-warnings":
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &w.policy))
		case "ValidatingAdmissionPolicyBinding podsequence-warnings":
			var binding admissionv1.ValidatingAdmissionPolicyBinding
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &binding))
			require.Equal(t, []admissionv1.ValidationAction{admissionv1.Warn}, binding.Spec.ValidationActions)
		}
	}
	require.NotEmpty(t, w.policy.Spec.Validations)
	return w
}

// evaluate returns what an expression says. It fails if that costs more than the API server allows.
func (w *warnings) evaluate(expression string, activation map[string]any) ref.Val {
	w.Helper()
	ast, issues := w.env.Compile(expression)
	require.NoError(w, issues.Err(), expression)
	program, err := w.env.Program(ast, cel.CostLimit(celconfig.PerCallLimit), cel.CostTracking(&library.CostEstimator{}),
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost))
	require.NoError(w, err)
	value, details, err := program.Eval(activation)
	require.NoError(w, err, expression)
	w.cost += *details.ActualCost()
	return value
}

// about returns the messages that a user sees who creates an object.
func (w *warnings) about(object map[string]any) (messages []string) {
	w.Helper()
	variables := map[string]any{}
	activation := map[string]any{"object": object, "oldObject": types.NullValue, "variables": variables}
	for _, condition := range w.policy.Spec.MatchConditions {
		if w.evaluate(condition.Expression, activation) != types.True {
			return nil
		}
	}
	for _, variable := range w.policy.Spec.Variables {
		variables[variable.Name] = w.evaluate(variable.Expression, activation)
	}
	for _, validation := range w.policy.Spec.Validations {
		if w.evaluate(validation.Expression, activation) == types.True {
			continue
		}
		messages = append(messages, w.evaluate(validation.MessageExpression, activation).Value().(string))
	}
	return messages
}

func TestWarningsAboutClusterPodSequences(t *testing.T) {
	const (
		ofKubeSystem   = "lists namespace kube-system and waits"
		ofInstallation = "lists namespace podsequence-system, where PodSequence is installed"
		ofTenants      = "whose namespaceSelector may select namespaces of several teams"
	)
	tests := map[string]struct {
		groups string
		dryRun bool
		want   []string
	}{
		"the driver of a namespace first, then some applications": {
			groups: `[{name: Driver, namespaces: [storage], podSelector: {}}, {name: App, namespaces: [shop], podSelector: {}}]`,
		},
		"drivers in kube-system first": {
			groups: `[{name: Driver, namespaces: [kube-system], podSelector: {matchLabels: {app: csi}}}, {name: App, namespaceSelector: {}, podSelector: {}}]`,
		},
		"the platform first, then everything": {
			groups: `[{name: Platform, namespaces: [platform], podSelector: {}}, {name: Rest, namespaceSelector: {}, podSelector: {}}]`,
		},
		"the platform first, then kube-system": {
			groups: `[{name: Platform, namespaces: [platform], podSelector: {}}, {name: Rest, namespaces: [shop, kube-system], podSelector: {}}]`,
			want:   []string{ofKubeSystem},
		},
		"a dry run of that": {
			groups: `[{name: Platform, namespaces: [platform], podSelector: {}}, {name: Rest, namespaces: [shop, kube-system], podSelector: {}}]`, dryRun: true,
		},
		"kube-system in a group that waits for none": {
			groups: `[{name: Platform, namespaces: [platform], podSelector: {}}, {name: System, namespaces: [kube-system], podSelector: {}, dependsOn: []}]`,
		},
		"kube-system in a group that waits for one": {
			groups: `[{name: Platform, namespaces: [platform], podSelector: {}}, {namespaces: [kube-system], podSelector: {}, dependsOn: [Platform]}]`,
			want:   []string{ofKubeSystem},
		},
		"the namespace of the installation": {
			groups: `[{name: Platform, namespaces: [platform], podSelector: {}}, {name: Rest, namespaces: [podsequence-system], podSelector: {}}]`,
			want:   []string{ofInstallation},
		},
		"everything first": {
			groups: `[{name: Proxies, namespaceSelector: {}, podSelector: {matchLabels: {app: proxy}}}, {name: Rest, namespaces: [shop], podSelector: {}}]`,
			want:   []string{ofTenants},
		},
		"everything but some first": {
			groups: `[{name: Proxies, namespaceSelector: {matchExpressions: [{key: team, operator: NotIn, values: [red]}]}, podSelector: {}}, {name: Rest, namespaces: [shop], podSelector: {}}]`,
			want:   []string{ofTenants},
		},
		"the namespaces of a team first": {
			groups: `[{name: Proxies, namespaceSelector: {matchLabels: {team: red}}, podSelector: {}}, {name: Rest, namespaces: [shop], podSelector: {}}]`,
		},
		"the namespaces of two teams first": {
			groups: `[{name: Proxies, namespaceSelector: {matchExpressions: [{key: team, operator: In, values: [red, blue]}]}, podSelector: {}}, {name: Rest, namespaces: [shop], podSelector: {}}]`,
			want:   []string{ofTenants},
		},
		"the namespaces of any team first": {
			groups: `[{name: Proxies, namespaceSelector: {matchExpressions: [{key: team, operator: Exists}]}, podSelector: {}}, {name: Rest, namespaces: [shop], podSelector: {}}]`,
			want:   []string{`group "Proxies", ` + ofTenants},
		},
		"two groups of any team first": {
			groups: `[{name: A, namespaceSelector: {}, podSelector: {}}, {name: B, namespaceSelector: {}, podSelector: {}}, {namespaces: [shop], podSelector: {}}]`,
			want:   []string{`group "A" and 1 more, ` + ofTenants},
		},
		"namespaces by their names first": {
			groups: `[{name: Proxies, namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [red, blue]}]}, podSelector: {}}, {name: Rest, namespaces: [shop], podSelector: {}}]`,
		},
		"everything first, and skipped": {
			groups: `[{name: Proxies, namespaceSelector: {}, podSelector: {}, skip: true}, {name: Rest, namespaces: [shop], podSelector: {}}]`,
		},
		"everything in a group that none waits for": {
			groups: `[{name: Proxies, namespaceSelector: {}, podSelector: {}}, {name: Rest, namespaces: [shop], podSelector: {}, dependsOn: []}]`,
		},
		"everything in a group that one waits for by its name": {
			groups: `[{name: A, namespaces: [a], podSelector: {}}, {name: Proxies, namespaceSelector: {}, podSelector: {}}, {name: Rest, namespaces: [shop], podSelector: {}, dependsOn: [Proxies]}]`,
			want:   []string{ofTenants},
		},
		"several at once": {
			groups: `[{namespaceSelector: {}, podSelector: {}}, {name: System, namespaces: [podsequence-system, kube-system], podSelector: {}}]`,
			want:   []string{ofKubeSystem, ofInstallation, ofTenants},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var groups []any
			require.NoError(t, yaml.Unmarshal([]byte(test.groups), &groups))
			spec := map[string]any{"podGroups": groups}
			if test.dryRun {
				spec["dryRun"] = true
			}
			messages := newWarnings(t).about(map[string]any{"spec": spec})
			require.Len(t, messages, len(test.want), "%q", messages)
			for i, message := range messages {
				assert.Contains(t, message, test.want[i])
				assert.NotContains(t, message, "\n")
			}
		})
	}
}

// The API server stops when an expression, or all of a policy together, cost too much. The largest objects stay far below.
func TestWarningsAboutTheLargestClusterPodSequences(t *testing.T) {
	name := func(i int) any { return strings.Repeat("x", 61) + fmt.Sprintf("%02d", i) }
	names := func(from, to int) []any {
		all := []any{}
		for i := from; i < to; i++ {
			all = append(all, name(i))
		}
		return all
	}
	none := func(int) bool { return false }
	for shape, of := range map[string]struct {
		dependsOn func(i int) []any // nil if it is absent
		open      func(i int) bool
	}{
		"list":                             {func(int) []any { return nil }, none},
		"list of every namespace":          {func(int) []any { return nil }, func(i int) bool { return i > 0 }},
		"graph":                            {func(i int) []any { return names(max(0, i-16), i) }, none},
		"graph of every namespace":         {func(i int) []any { return names(max(0, i-16), i) }, func(i int) bool { return i > 0 }},
		"every namespace, awaited by none": {func(i int) []any { return names(0, min(i, 16)) }, func(i int) bool { return i > 15 }},
	} {
		var groups []any
		for i := range 64 {
			group := map[string]any{"name": name(i), "podSelector": map[string]any{}}
			if dependsOn := of.dependsOn(i); dependsOn != nil {
				group["dependsOn"] = dependsOn
			}
			if of.open(i) {
				group["namespaceSelector"] = map[string]any{}
			} else {
				group["namespaces"] = names(0, 64)
			}
			groups = append(groups, group)
		}
		w := newWarnings(t)
		w.about(map[string]any{"spec": map[string]any{"podGroups": groups}})
		t.Logf("%s: %d of %d", shape, w.cost, celconfig.RuntimeCELCostBudget)
		assert.Less(t, w.cost, uint64(celconfig.RuntimeCELCostBudget)/5)
	}
}
