package bench

// quarters returns the values of the first and of the last quarter of a curve, which has one point at least.
func quarters(points []point) (first, last []float64) {
	quarter := (len(points) + 3) / 4
	return values(points[:quarter]), values(points[len(points)-quarter:])
}

func values(points []point) []float64 {
	all := make([]float64, len(points))
	for i := range points {
		all[i] = points[i].Y
	}
	return all
}

// windows cuts a curve into at most so many parts with about as many points each, and makes one point of each: so a curve of days stays
// small, and shows more than some points of it would.
func windows(points []point, count int, of func([]float64) float64) []point {
	count = min(count, len(points))
	parts := make([]point, count)
	for i := range parts {
		part := points[i*len(points)/count : (i+1)*len(points)/count]
		parts[i] = point{X: (part[0].X + part[len(part)-1].X) / 2, Y: of(values(part))}
	}
	return parts
}

// median of values, for windows.
func median(values []float64) float64 { return percentile(values, 50) }

// highPercentile returns which high percentile so many values show: the 99th of less than a hundred would be the highest of them.
func highPercentile(count int) int {
	const enough = 100
	if count < enough {
		return 95
	}
	return 99
}
