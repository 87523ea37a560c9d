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

func (d *diary) Served(ctx context.Context) {
	*d = append(*d, "served")
	<-ctx.Done()
	*d = append(*d, "stopped")
}

func (d *diary) Unserved(_ context.Context, isDefined bool, version string) {
	*d = append(*d, map[bool]string{true: "defined at ", false: "undefined at "}[isDefined]+version)
}

func crd(uid types.UID, conditions ...apiextensionsv1.CustomResourceDefinitionCondition) *apiextensionsv1.CustomResourceDefinition {
	d := &apiextensionsv1.CustomResourceDefinition{}
	d.UID, d.ResourceVersion = uid, "8"
	d.Status.Conditions = conditions
	return d
}

func establishedIs(status apiextensionsv1.ConditionStatus) []apiextensionsv1.CustomResourceDefinitionCondition {
	return []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
		{Type: apiextensionsv1.Established, Status: status},
	}
}

func TestFollowersAreToldWhetherAKindIsServed(t *testing.T) {
	list := func(definitions ...any) func(*store) error {
		return func(s *store) error { return s.Replace(definitions, "7") }
	}
	update := func(d any) func(*store) error { return func(s *store) error { return s.Update(d) } }
	remove := func(d any) func(*store) error { return func(s *store) error { return s.Delete(d) } }
	yes, no := establishedIs(apiextensionsv1.ConditionTrue), establishedIs(apiextensionsv1.ConditionFalse)
	a, b := crd("a", yes...), crd("b", yes...)
	notYetA, notYetB := crd("a", no...), crd("b", no...)

	for name, tc := range map[string]struct {
		events []func(*store) error
		want   []string
	}{
		"it is not there":                            {[]func(*store) error{list()}, []string{"undefined at 7"}},
		"it is still not there":                      {[]func(*store) error{list(), list()}, []string{"undefined at 7"}},
		"it is there":                                {[]func(*store) error{list(a)}, []string{"served", "stopped"}},
		"it is there and changes":                    {[]func(*store) error{list(a), update(a)}, []string{"served", "stopped"}},
		"it is there and the watch is begun anew":    {[]func(*store) error{list(a), list(a)}, []string{"served", "stopped"}},
		"it is there but not served":                 {[]func(*store) error{list(notYetA), update(notYetA)}, []string{"defined at 7"}},
		"it is there and has no status yet":          {[]func(*store) error{list(crd(""))}, []string{"defined at 7"}},
		"it is there but not served, then it is":     {[]func(*store) error{list(notYetA), update(a)}, []string{"defined at 7", "served", "stopped"}},
		"it comes":                                   {[]func(*store) error{list(), update(notYetA), update(a)}, []string{"undefined at 7", "defined at 8", "served", "stopped"}},
		"it comes and goes before it is served":      {[]func(*store) error{list(), update(notYetA), remove(notYetA)}, []string{"undefined at 7", "defined at 8", "undefined at 8"}},
		"it is removed and comes back":               {[]func(*store) error{list(a), remove(a), update(b)}, []string{"served", "stopped", "undefined at 8", "served", "stopped"}},
		"it is removed while nobody watches":         {[]func(*store) error{list(a), list()}, []string{"served", "stopped", "undefined at 7"}},
		"it is replaced while nobody watches":        {[]func(*store) error{list(a), list(b)}, []string{"served", "stopped", "served", "stopped"}},
		"it is replaced by one that is not served":   {[]func(*store) error{list(a), list(notYetB)}, []string{"served", "stopped", "defined at 7"}},
		"it stops being served while it is the same": {[]func(*store) error{list(a), update(notYetA)}, []string{"served", "stopped"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, ctx := ktesting.NewTestContext(t)
			var told diary
			s := &store{ctx: ctx, watcher: NewWithSource(schema.GroupResource{}, nil), follower: &told}
			for _, event := range tc.events {
				require.NoError(t, event(s))
			}
			s.stop()
			assert.Equal(t, tc.want, []string(told))
			assert.ErrorContains(t, s.Update("text"), "read a definition")
			assert.ErrorContains(t, s.Delete("text"), "read a definition")
		})
	}
}

func TestTheLogSaysOnceHowToInstallAKindThatIsMissing(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	s := &Status{Resource: schema.GroupResource{Group: "batch.example.com", Resource: "sequentialjobs"}}
	s.set(logger, false)
	s.set(logger, false)
	value, err := testutil.GetGaugeMetricValue(installed.WithLabelValues("sequentialjobs.batch.example.com"))
	require.NoError(t, err)
	assert.Zero(t, value)
	s.set(logger, true)
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
