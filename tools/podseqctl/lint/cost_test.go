package lint

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// The largest objects of both kinds, by their shape, and how many of the 16 names in dependsOn each group has at most.
var largest = map[string]int{"list": -1, "chain": 1, "layers of 8": 8, "dense": 16}

// large is a sequence of 64 groups whose names, of 63 characters each, differ only at the end.
func large(cluster bool, names int) map[string]any {
	name := func(i int) any { return strings.Repeat("x", 61) + fmt.Sprintf("%02d", i) }
	groups := []any{}
	for i := range 64 {
		group := map[string]any{"name": name(i), "podSelector": map[string]any{}}
		if cluster {
			group["namespaceSelector"] = map[string]any{}
		}
		first := i - names
		if names == 8 {
			first = i/8*8 - 8
		}
		if names >= 0 {
			dependsOn := []any{}
			for j := max(0, first); j < i && len(dependsOn) < names; j++ {
				dependsOn = append(dependsOn, name(j))
			}
			group["dependsOn"] = dependsOn
		}
		groups = append(groups, group)
	}
	kind, metadata := v1alpha1.PodSequenceKind, map[string]any{"name": "large", "namespace": "shop"}
	if cluster {
		kind, metadata = v1alpha1.ClusterPodSequenceKind, map[string]any{"name": "large"}
	}
	return map[string]any{
		"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind, "metadata": metadata, "spec": map[string]any{"podGroups": groups},
	}
}

// costOf returns what the API server counts for the rules on an object.
func (d *Definitions) costOf(t require.TestingT, object *unstructured.Unstructured) int64 {
	definition := d.byKind[object.GroupVersionKind()]
	errs, left := definition.rules.Validate(context.Background(), nil, definition.structural, object.Object, nil, celconfig.RuntimeCELCostBudget)
	require.Empty(t, errs)
	return celconfig.RuntimeCELCostBudget - left
}

// dearestRule returns what the dearest rule on an object costs, in hundredths of what the API server allows one rule, rounded up.
func (d *Definitions) dearestRule(t require.TestingT, object *unstructured.Unstructured) int {
	structural := d.byKind[object.GroupVersionKind()].structural
	return 1 + sort.Search(100, func(hundredth int) bool {
		rules := cel.NewValidator(structural, true, uint64(celconfig.PerCallLimit*(1+hundredth)/100))
		errs, _ := rules.Validate(context.Background(), nil, structural, object.Object, nil, celconfig.RuntimeCELCostBudget)
		return len(errs) == 0
	})
}

// The API server refuses an object if one rule on it costs more than a rule may, or all rules together more than its budget. The
// largest objects stay below both.
func TestTheLargestObjectsCostLessThanRulesMay(t *testing.T) {
	definitions, err := NewDefinitions()
	require.NoError(t, err)
	for shape, names := range largest {
		for _, cluster := range []bool{false, true} {
			object := &unstructured.Unstructured{Object: large(cluster, names)}
			errs, object := definitions.Check(t.Context(), object)
			require.Empty(t, errs)
			cost, dearest := definitions.costOf(t, object), definitions.dearestRule(t, object)
			t.Logf("%s, 64 groups, %s: %d of %d, the dearest rule %d %%", object.GetKind(), shape, cost, int64(celconfig.RuntimeCELCostBudget), dearest)
			assert.Less(t, cost, int64(celconfig.RuntimeCELCostBudget)/5, "%s %s: all rules", object.GetKind(), shape)
			assert.Less(t, dearest, 90, "%s %s: percent of what one rule may cost", object.GetKind(), shape)
		}
	}
}

// BenchmarkRules measures how long the API server takes for the rules on the largest objects.
func BenchmarkRules(b *testing.B) {
	definitions, err := NewDefinitions()
	require.NoError(b, err)
	for shape, names := range largest {
		b.Run(shape, func(b *testing.B) {
			_, object := definitions.Check(b.Context(), &unstructured.Unstructured{Object: large(true, names)})
			var cost int64
			for b.Loop() {
				cost = definitions.costOf(b, object)
			}
			b.ReportMetric(float64(cost), "cost")
		})
	}
}
