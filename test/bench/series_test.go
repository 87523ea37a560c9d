package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func curveOf(values ...float64) []point {
	points := make([]point, len(values))
	for i, value := range values {
		points[i] = point{X: float64(i), Y: value}
	}
	return points
}

func TestQuarters(t *testing.T) {
	for name, tc := range map[string]struct {
		points      []point
		first, last []float64
	}{
		"eight points have quarters of two":      {curveOf(1, 2, 3, 4, 5, 6, 7, 8), []float64{1, 2}, []float64{7, 8}},
		"quarters of nine points are rounded up": {curveOf(1, 2, 3, 4, 5, 6, 7, 8, 9), []float64{1, 2, 3}, []float64{7, 8, 9}},
		"one point is both quarters":             {curveOf(1), []float64{1}, []float64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			first, last := quarters(tc.points)
			assert.Equal(t, tc.first, first)
			assert.Equal(t, tc.last, last)
		})
	}
}

func TestWindows(t *testing.T) {
	highest := func(values []float64) float64 { return percentile(values, 100) }
	for name, tc := range map[string]struct {
		points []point
		count  int
		want   []point
	}{
		"each window is one point":              {curveOf(1, 2, 9, 4, 5, 6), 2, []point{{1, 9}, {4, 6}}},
		"no point is left out or counted twice": {curveOf(7, 1, 1, 8, 1, 1, 9), 3, []point{{0.5, 7}, {2.5, 8}, {5, 9}}},
		"a short curve stays":                   {curveOf(3, 1), 60, []point{{0, 3}, {1, 1}}},
		"no points have no windows":             {nil, 60, []point{}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, windows(tc.points, tc.count, highest)) })
	}
}

func TestAPercentileNeedsValues(t *testing.T) {
	assert.Equal(t, 95, highPercentile(99))
	assert.Equal(t, 99, highPercentile(100))
}
