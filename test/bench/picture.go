package bench

import (
	"fmt"
	"html"
	"io"
	"math"
)

// The sizes of a picture and of the frame in it, in pixels.
const (
	pictureWidth  = 720
	pictureHeight = 360
	frameLeft     = 70
	frameTop      = 20
	frameWidth    = 440
	frameHeight   = 280
)

// colours tell variants apart, also for those who see fewer colours.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// scale places values on an axis.
type scale struct {
	low, high float64
	log       bool
}

// newScale fits all values. A logarithmic one leaves out those that have no logarithm.
func newScale(log bool, values func(yield func(float64))) scale {
	s := scale{low: math.Inf(1), high: math.Inf(-1), log: log}
	values(func(v float64) {
		if !log || v > 0 {
			s.low, s.high = min(s.low, v), max(s.high, v)
		}
	})
	switch {
	case s.low > s.high:
		s.low, s.high = 1, 2
	case !log:
		s.low = min(s.low, 0)
	}
	if s.low == s.high {
		s.high = s.low + 1
	}
	return s
}

// at returns where a value is on the axis, from 0 to 1.
func (s scale) at(v float64) float64 {
	if s.log {
		return (math.Log(max(v, s.low)) - math.Log(s.low)) / (math.Log(s.high) - math.Log(s.low))
	}
	return (v - s.low) / (s.high - s.low)
}

// ticks are round values on the axis.
func (s scale) ticks() []float64 {
	var all []float64
	if s.log {
		for v := math.Pow(10, math.Floor(math.Log10(s.low))); v <= s.high; v *= 10 {
			if v >= s.low {
				all = append(all, v)
			}
		}
		return all
	}
	const about = 5
	step := math.Pow(10, math.Floor(math.Log10((s.high-s.low)/about)))
	for _, times := range []float64{10, 5, 2} {
		if (s.high-s.low)/(step*times) >= about-1 {
			step *= times
			break
		}
	}
	for v := math.Ceil(s.low/step) * step; v <= s.high; v += step {
		all = append(all, v)
	}
	return all
}

// draw writes the curves of a result as SVG.
func (r result) draw(out io.Writer) {
	eachOf := func(coordinate func(point) float64) func(func(float64)) {
		return func(yield func(float64)) {
			for _, c := range r.Curves {
				for _, p := range c.Points {
					yield(coordinate(p))
				}
			}
		}
	}
	xs := newScale(r.Axes.LogX, eachOf(func(p point) float64 { return p.X }))
	ys := newScale(r.Axes.LogY, eachOf(func(p point) float64 { return p.Y }))
	x := func(v float64) float64 { return frameLeft + frameWidth*xs.at(v) }
	y := func(v float64) float64 { return frameTop + frameHeight*(1-ys.at(v)) }

	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		pictureWidth, pictureHeight)
	fmt.Fprintf(out, `<title>%s</title><rect width="100%%" height="100%%" fill="white"/>`+"\n", html.EscapeString(r.Question))
	for _, v := range xs.ticks() {
		fmt.Fprintf(out, `<path d="M%.1f %dv%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x(v), frameTop, frameHeight, x(v), frameTop+frameHeight+16, short(v))
	}
	for _, v := range ys.ticks() {
		fmt.Fprintf(out, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			frameLeft, y(v), frameWidth, frameLeft-6, y(v)+4, short(v))
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", frameLeft+frameWidth/2, pictureHeight-14, html.EscapeString(r.Axes.X))
	fmt.Fprintf(out, `<text transform="translate(16 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", frameTop+frameHeight/2, html.EscapeString(r.Axes.Y))
	for i, c := range r.Curves {
		colour := colours[i%len(colours)]
		fmt.Fprintf(out, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, colour)
		for _, p := range c.Points {
			fmt.Fprintf(out, "%.1f,%.1f ", x(p.X), y(p.Y))
		}
		fmt.Fprint(out, `"/>`+"\n")
		line := frameTop + 10 + 18*i
		fmt.Fprintf(out, `<path d="M%d %dh16" stroke="%s" stroke-width="2"/><text x="%d" y="%d">%s</text>`+"\n",
			frameLeft+frameWidth+12, line, colour, frameLeft+frameWidth+34, line+4, html.EscapeString(c.Name))
	}
	fmt.Fprintln(out, "</svg>")
}

// thin leaves about so many points of a curve, the first and the last among them.
func thin(points []point, count int) []point {
	if len(points) <= count {
		return points
	}
	kept := make([]point, count)
	for i := range kept {
		kept[i] = points[i*(len(points)-1)/(count-1)]
	}
	return kept
}
