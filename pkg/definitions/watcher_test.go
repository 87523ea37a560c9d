package definitions

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2/ktesting"
)

// diary is a follower that writes down what it is told.
type diary []string

func (d *diary) Installed(context.Context) { *d = append(*d, "installed") }
func (d *diary) Removed(context.Context)   { *d = append(*d, "removed") }

func definition(uid types.UID, isEstablished bool) *apiextensionsv1.CustomResourceDefinition {
	d := &apiextensionsv1.CustomResourceDefinition{}
	d.UID = uid
	status := apiextensionsv1.ConditionFalse
	if isEstablished {
		status = apiextensionsv1.ConditionTrue
	}
	d.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
		{Type: apiextensionsv1.Established, Status: status},
	}
	return d
}

func TestFollowersAreToldWhetherAKindIsInstalled(t *testing.T) {
	list := func(definitions ...*apiextensionsv1.CustomResourceDefinition) func(*store) error {
		return func(s *store) error {
			objects := make([]any, len(definitions))
			for i, d := range definitions {
				objects[i] = d
			}
			return s.Replace(objects, "1")
		}
	}
	update := func(d *apiextensionsv1.CustomResourceDefinition) func(*store) error {
		return func(s *store) error { return s.Update(d) }
	}
	remove := func(s *store) error { return s.Delete(definition("a", true)) }

	for name, tc := range map[string]struct {
		events []func(*store) error
		want   []string
	}{
		"it is not there":                            {[]func(*store) error{list()}, []string{"removed"}},
		"it is still not there":                      {[]func(*store) error{list(), list()}, []string{"removed"}},
		"it is there":                                {[]func(*store) error{list(definition("a", true))}, []string{"installed"}},
		"it is there and changes":                    {[]func(*store) error{list(definition("a", true)), update(definition("a", true))}, []string{"installed"}},
		"it is there and the watch is begun anew":    {[]func(*store) error{list(definition("a", true)), list(definition("a", true))}, []string{"installed"}},
		"it is there but not served":                 {[]func(*store) error{list(definition("a", false))}, []string{"removed"}},
		"it is there but not served, then it is":     {[]func(*store) error{list(definition("a", false)), update(definition("a", true))}, []string{"removed", "installed"}},
		"it comes":                                   {[]func(*store) error{list(), update(definition("a", false)), update(definition("a", true))}, []string{"removed", "installed"}},
		"it is removed and comes back":               {[]func(*store) error{list(definition("a", true)), remove, update(definition("b", true))}, []string{"installed", "removed", "installed"}},
		"it is removed while nobody watches":         {[]func(*store) error{list(definition("a", true)), list()}, []string{"installed", "removed"}},
		"it is replaced while nobody watches":        {[]func(*store) error{list(definition("a", true)), list(definition("b", true))}, []string{"installed", "installed"}},
		"it is replaced by one that is not served":   {[]func(*store) error{list(definition("a", true)), list(definition("b", false))}, []string{"installed", "removed"}},
		"it stops being served while it is the same": {[]func(*store) error{list(definition("a", true)), update(definition("a", false))}, []string{"installed"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, ctx := ktesting.NewTestContext(t)
			var told diary
			s := &store{ctx: ctx, status: &Status{}, follower: &told}
			for _, event := range tc.events {
				require.NoError(t, event(s))
			}
			assert.Equal(t, tc.want, []string(told))
		})
	}
}

func TestTheLogSaysOnceHowToInstallAKindThatIsMissing(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	s := &Status{Resource: schema.GroupResource{Group: "batch.example.com", Resource: "sequentialjobs"}}
	s.Set(logger, false)
	s.Set(logger, false)
	value, err := testutil.GetGaugeMetricValue(installed.WithLabelValues("sequentialjobs.batch.example.com"))
	require.NoError(t, err)
	assert.Zero(t, value)
	s.Set(logger, true)
	value, err = testutil.GetGaugeMetricValue(installed.WithLabelValues("sequentialjobs.batch.example.com"))
	require.NoError(t, err)
	assert.Equal(t, 1.0, value)

	var lines []string
	for _, entry := range logger.GetSink().(ktesting.Underlier).GetBuffer().Data() {
		lines = append(lines, entry.Message)
		assert.Contains(t, entry.ParameterKVList, "definition")
	}
	assert.Equal(t, []string{"The kind is not installed; waiting for its definition", "The kind is installed"}, lines)
	first := logger.GetSink().(ktesting.Underlier).GetBuffer().Data()[0].ParameterKVList
	assert.Contains(t, first, "kubectl apply --server-side -f manifests/crds/batch.example.com_sequentialjobs.yaml")
}
