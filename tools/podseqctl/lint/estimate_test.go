package lint

import (
	"io/fs"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"example.com/podsequence/manifests"
)

// estimatedShare is how much of the API server's limits the rules of one of our kinds may take by the API server's own estimate.
// The rest is for its next releases, which may estimate higher.
const estimatedShare = 0.9

// estimates holds what the API server estimates for the rules of one kind.
type estimates struct {
	t     *testing.T
	costs []crdvalidation.RuleCost
}

// The API server refuses a CustomResourceDefinition with a rule that costs too much in the worst case that its schema allows, and
// one whose rules cost too much together: lists and strings without a bound make it so.
func TestTheEstimatedCostOfOurRulesIsBelowTheLimit(t *testing.T) {
	files, err := fs.Glob(manifests.FS, "crds/*_*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(path.Base(file), func(t *testing.T) {
			text, err := manifests.FS.ReadFile(file)
			require.NoError(t, err)
			crd, err := parseDefinition(text)
			require.NoError(t, err)
			rules, total := 0, uint64(0)
			for _, version := range crd.Spec.Versions {
				served, err := apiextensions.GetSchemaForVersion(crd, version.Name)
				require.NoError(t, err)
				e := &estimates{t: t}
				root := crdvalidation.RootCELContext(served.OpenAPIV3Schema)
				e.add(served.OpenAPIV3Schema, root, field.NewPath(version.Name))
				slices.SortFunc(e.costs, func(a, b crdvalidation.RuleCost) int { return int(min(b.Cost, 1<<62)) - int(min(a.Cost, 1<<62)) })
				for i, rule := range e.costs {
					if i < 3 {
						t.Logf("%d of %d: %s", rule.Cost, crdvalidation.StaticEstimatedCostLimit, rule.Path)
					}
					assert.LessOrEqual(t, float64(rule.Cost), estimatedShare*crdvalidation.StaticEstimatedCostLimit, "%s: bound its lists and strings", rule.Path)
				}
				rules, total = rules+len(e.costs), total+root.TotalCost.Total
				assert.LessOrEqual(t, float64(root.TotalCost.Total), estimatedShare*crdvalidation.StaticEstimatedCRDCostLimit, "all rules of %s together", version.Name)
			}
			t.Logf("all %d rules: %d of %d", rules, total, crdvalidation.StaticEstimatedCRDCostLimit)
			assert.NotZero(t, rules, "the walk has missed the rules")
		})
	}
}

// add estimates the rules of a schema and of what is in it, as the API server does when the definition is created.
func (e *estimates) add(schema *apiextensions.JSONSchemaProps, at *crdvalidation.CELSchemaContext, where *field.Path) {
	for name, property := range schema.Properties {
		e.add(&property, at.ChildPropertyContext(&property, name), where.Child(name))
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		values := schema.AdditionalProperties.Schema
		e.add(values, at.ChildAdditionalPropertiesContext(values), where.Key("*"))
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		items := schema.Items.Schema
		e.add(items, at.ChildItemsContext(items), where.Key("*"))
	}
	if len(schema.XValidations) == 0 {
		return
	}
	kind, err := at.TypeInfo()
	require.NoError(e.t, err)
	require.NotNil(e.t, kind, "the type of %s", where)
	compiled, err := cel.Compile(kind.Schema, kind.DeclType, celconfig.PerCallLimit,
		environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.NewExpressionsEnvLoader())
	require.NoError(e.t, err)
	require.Len(e.t, compiled, len(schema.XValidations))
	for i, rule := range compiled {
		require.Nil(e.t, rule.Error, "rule %d of %s", i, where)
		require.NotNil(e.t, at.MaxCardinality, "%s is in a list or map without a bound", where)
		cost := crdvalidation.RuleCost{Path: where.Index(i), Cost: rule.MaxCost * *at.MaxCardinality}
		e.costs = append(e.costs, cost)
		at.TotalCost.ObserveExpressionCost(cost.Path, cost.Cost)
		at.TotalCost.ObserveExpressionCost(cost.Path, rule.MessageExpressionMaxCost)
	}
}
