package census

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/test/harness/samples"
)

func TestPlaces(t *testing.T) {
	failed := NewNamedPlaces[string]("things", "Things.", "reason")
	expect := func(want ...string) {
		t.Helper()
		text := "# HELP things [ALPHA] Things.\n# TYPE things gauge\n" + strings.Join(want, "\n") + "\n"
		assert.NoError(t, testutil.CollectAndCompare(failed, strings.NewReader(text)))
	}
	assert.Zero(t, testutil.CollectAndCount(failed))
	failed.Set("a", Place{Namespace: "shop"}, One("Late"))
	failed.Set("b", Place{Namespace: "shop"}, One("Late"), Item{[]string{"Lost"}, 5})
	failed.Set("c", Place{Name: "whole-cluster"}, One("Late"))
	expect(`things{name="",namespace="shop",reason="Late"} 2`, `things{name="",namespace="shop",reason="Lost"} 5`,
		`things{name="whole-cluster",namespace="",reason="Late"} 1`)

	failed.Set("b", Place{Namespace: "shop"}, One("Lost"))
	failed.Set("c", Place{Name: "whole-cluster"})
	failed.Forget("unknown")
	expect(`things{name="",namespace="shop",reason="Late"} 1`, `things{name="",namespace="shop",reason="Lost"} 1`)
	failed.Forget("a")
	failed.Forget("b")
	assert.Zero(t, testutil.CollectAndCount(failed), "a namespace without problems has no time series")
	assert.Empty(t, failed.objects)
	assert.Empty(t, failed.places)
}

func label(sample *dto.Metric, name string) string {
	for _, pair := range sample.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

func TestUsersDoNotDecideHowManyTimeSeriesThereAre(t *testing.T) {
	failed := NewPlaces[string]("things", "Things.")
	of := func(i int) string { return fmt.Sprintf("namespace-%d", i) }
	for i := range MaxPlaces + 2 {
		for range 3 { // what is said again changes nothing
			failed.Set(of(i), Place{Namespace: of(i)}, One())
		}
	}
	found := samples.Of(t, failed)
	assert.Len(t, found, MaxPlaces+1)
	assert.InDelta(t, 1, found[of(0)], 0)
	assert.InDelta(t, 1, found[of(MaxPlaces-1)], 0)
	assert.InDelta(t, 2, found[OtherPlaces], 0, "the last ones are counted all the same")

	failed.Forget(of(0))
	found = samples.Of(t, failed)
	assert.NotContains(t, found, of(0))
	assert.InDelta(t, 1, found[of(MaxPlaces)], 0, "the next one gets the name that is free")
	assert.InDelta(t, 1, found[OtherPlaces], 0)
	failed.Set(of(0), Place{Namespace: of(0)}, One())
	assert.NotContains(t, samples.Of(t, failed), of(0), "those that were there before keep theirs")
}

func TestAges(t *testing.T) {
	began := NewOldest[string]()
	ages := NewNamedAges("age_seconds", "Age.", began.ByPlace)
	assert.Zero(t, testutil.CollectAndCount(ages))
	now := time.Unix(1000, 0)
	expect := func(want map[Place]float64) {
		t.Helper()
		collected := make(chan prometheus.Metric, 2*MaxPlaces)
		ages.collect(collected, now)
		close(collected)
		found := map[Place]float64{}
		for metric := range collected {
			sample := &dto.Metric{}
			require.NoError(t, metric.Write(sample))
			found[Place{label(sample, "namespace"), label(sample, "name")}] = sample.GetGauge().GetValue()
		}
		assert.Equal(t, want, found)
	}
	shop, bank, cluster := Place{Namespace: "shop"}, Place{Namespace: "bank"}, Place{Name: "cluster"}
	began.Set("a", shop, time.Unix(990, 0))
	began.Set("b", shop, time.Unix(950, 0))
	began.Set("c", bank, time.Unix(2000, 0))
	began.Set("d", cluster, time.Unix(400, 0))
	expect(map[Place]float64{shop: 50, bank: 0, cluster: 600}) // clocks differ
	began.Forget("b")
	began.Forget("d")
	expect(map[Place]float64{shop: 10, bank: 0})

	want := map[Place]float64{}
	for i := range MaxPlaces + 5 {
		old := Place{Namespace: fmt.Sprintf("old-%d", i)}
		began.Set(old.Namespace, old, time.Unix(int64(500+i), 0))
		if i < MaxPlaces {
			want[old] = float64(500 - i)
		}
	}
	want[Place{Namespace: OtherPlaces}] = 500 - MaxPlaces
	expect(want)
}

func TestNames(t *testing.T) {
	var names Names
	for i := range MaxPlaces {
		name := fmt.Sprintf("namespace-%d", i)
		assert.Equal(t, name, names.Of(name))
	}
	assert.Equal(t, OtherPlaces, names.Of("one-more"))
	assert.Equal(t, "namespace-7", names.Of("namespace-7"))
}
