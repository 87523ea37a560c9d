package census

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

func TestCensus(t *testing.T) {
	gauge := metrics.NewGaugeVec(&metrics.GaugeOpts{Name: "things"}, []string{"colour"})
	metrics.NewKubeRegistry().MustRegister(gauge)
	want := func(colour string, count float64) {
		t.Helper()
		got, err := testutil.GetGaugeMetricValue(gauge.WithLabelValues(colour))
		assert.NoError(t, err)
		assert.InDelta(t, count, got, 0, colour)
	}
	c := New[string](gauge)
	c.Set("a", One("red"))
	c.Set("b", One("red"), Item{[]string{"blue"}, 5})
	want("red", 2)
	want("blue", 5)
	c.Set("a", One("red"))
	want("red", 2)
	c.Set("a", One("blue"))
	want("red", 1)
	want("blue", 6)
	c.Forget("b")
	c.Forget("unknown")
	want("red", 0)
	want("blue", 1)
}

func TestOldest(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	o := NewOldest[string]()
	assert.Zero(t, o.Seconds(at(100)))
	o.Set("a", at(90))
	o.Set("b", at(50))
	assert.InDelta(t, 50, o.Seconds(at(100)), 0)
	o.Forget("b")
	assert.InDelta(t, 10, o.Seconds(at(100)), 0)
	o.Set("a", time.Time{})
	assert.Zero(t, o.Seconds(at(100)))
	o.Set("a", at(200))
	assert.Zero(t, o.Seconds(at(100)), "clocks differ")
}
