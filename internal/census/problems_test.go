package census

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"

	"example.com/podsequence/internal/telemetry"
	"example.com/podsequence/test/harness/samples"
)

func newByNamespace() *ByNamespace {
	return &ByNamespace{desc: prometheus.NewDesc("things", "Things.", []string{"kind", "namespace"}, nil), counts: map[counted]int{}}
}

func TestObjectsAreCountedByKindAndNamespace(t *testing.T) {
	b := newByNamespace()
	b.Set("Thing", "shop", "a", 1)
	b.Set("Thing", "shop", "b", 1)
	b.Set("Thing", "shop", "b", 1)
	b.Set("Thing", "bank", "a", 3)
	b.Set("Other", "shop", "a", 1)
	b.Set("Thing", "bank", "unknown", 0)
	assert.Equal(t, map[string]float64{"Thing shop": 2, "Thing bank": 3, "Other shop": 1}, samples.Of(t, b))
	b.Set("Thing", "shop", "a", 0)
	b.Set("Other", "shop", "a", 0)
	b.Set("Thing", "bank", "a", 0)
	assert.Equal(t, map[string]float64{"Thing shop": 1}, samples.Of(t, b))
	b.Set("Thing", "shop", "b", 0)
	assert.Empty(t, samples.Of(t, b), "a namespace without problems has no time series")
	assert.Empty(t, b.counts)
}

func TestUsersDoNotDecideHowManyTimeSeriesThereAre(t *testing.T) {
	b := newByNamespace()
	for i := range MaxNamespaces + 2 {
		b.Set("Thing", fmt.Sprintf("namespace-%03d", i), "a", 1)
	}
	found := samples.Of(t, b)
	assert.Len(t, found, MaxNamespaces+1)
	assert.InDelta(t, 2, found["Thing "+OtherNamespaces], 0)
	assert.Contains(t, found, "Thing namespace-000")

	b.Set("Thing", "namespace-000", "a", 0)
	found = samples.Of(t, b)
	assert.InDelta(t, 1, found["Thing "+OtherNamespaces], 0)
	assert.Contains(t, found, "Thing namespace-200", "it has the place of one that is solved")
}

func TestTheOldestCounts(t *testing.T) {
	began := NewOldest[string]()
	age := NewAge(&telemetry.Part{}, "age", "Age.", began.Since)
	assert.Equal(t, map[string]float64{"": 0}, samples.Of(t, age))
	now := time.Now()
	began.Set("a", now.Add(-time.Minute))
	began.Set("b", now.Add(-time.Hour))
	assert.InDelta(t, time.Hour.Seconds(), samples.Of(t, age)[""], 10)
	began.Set("b", now.Add(time.Hour))
	assert.InDelta(t, time.Minute.Seconds(), samples.Of(t, age)[""], 10)
	began.Set("a", time.Time{})
	assert.InDelta(t, 0, samples.Of(t, age)[""], 0, "what begins in the future is not old")
	began.Set("b", time.Time{})
	assert.True(t, began.Since().IsZero())
}
