package census

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"k8s.io/component-base/metrics/testutil"
)

func TestCensus(t *testing.T) {
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "things"}, []string{"colour"})
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
