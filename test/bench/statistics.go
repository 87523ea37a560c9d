package bench

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// confidence is how sure an interval is at least. With nine pairs it is 96 %, with five 94 %.
const confidence = 0.9

// interval is the median of measurements, and between which values the median of infinitely many is, whatever their distribution.
type interval struct {
	Median float64 `json:"median"`
	// Low and High are nil if there are too few measurements to say.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Count is of the measurements.
	Count int `json:"count"`
}

// summarize expects one measurement at least.
func summarize(values []float64) interval {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), confidence)
	i := interval{Median: s.Center, Count: len(values)}
	if !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0) {
		i.Low, i.High = &s.Lo, &s.Hi
	}
	return i
}

// String returns the median with its interval.
func (i interval) String() string {
	if i.Low == nil || i.High == nil {
		return short(i.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", short(i.Median), short(*i.Low), short(*i.High))
}

// short writes a number with three digits.
func short(value float64) string {
	switch size := math.Abs(value); {
	case size >= 100 || value == math.Trunc(value):
		return fmt.Sprintf("%.0f", value)
	case size >= 10:
		return fmt.Sprintf("%.1f", value)
	case size >= 0.1:
		return fmt.Sprintf("%.2f", value)
	default:
		return fmt.Sprintf("%.3f", value)
	}
}

// percentile returns the smallest value that so many percent of all do not exceed. It expects one value at least.
func percentile(values []float64, percent int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(1, (len(sorted)*percent+99)/100)-1]
}
