package bench

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"slices"
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
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

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

// The sizes of a picture of bars, in pixels.
const (
	barNames  = 235
	barWidth  = 190
	barNumber = 55
	barHeight = 22
	barsTop   = 52
)

// facet is a figure that a picture of bars compares variants by.
type facet struct {
	title, figure string
}

// drawBars writes the medians of some variants as SVG: a bar for each variant and facet, in the order of the first facet. The picture
// follows the colours that the reader's machine prefers, on a ground of its own, so that it can be read on any page.
func drawBars(out io.Writer, variants map[string]map[string]interval, title, own string, facets []facet) {
	names := slices.SortedFunc(maps.Keys(variants), func(a, b string) int {
		return cmp.Or(cmp.Compare(variants[a][facets[0].figure].Median, variants[b][facets[0].figure].Median), cmp.Compare(a, b))
	})
	width, height := barNames+len(facets)*(barWidth+barNumber)+10, barsTop+barHeight*len(names)+12
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img">`+"\n",
		width, height)
	fmt.Fprintf(out, `<title>%s</title><style>text{font:12px system-ui,sans-serif;fill:#1f2933}.head{font-weight:600}.own{font-weight:600}`+
		`.ground{fill:#fff}.bar{fill:#a9b4bf}.bar.own{fill:#0072b2}@media (prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}`+
		`.bar{fill:#57626e}.bar.own{fill:#56b4e9}}</style>`+"\n", html.EscapeString(title))
	fmt.Fprintf(out, `<rect class="ground" width="%d" height="%d"/><text class="head" x="12" y="20">%s</text>`+"\n",
		width, height, html.EscapeString(title))
	left := func(i int) int { return barNames + i*(barWidth+barNumber) }
	for i, f := range facets {
		fmt.Fprintf(out, `<text x="%d" y="42">%s</text>`+"\n", left(i), html.EscapeString(f.title))
	}
	for line, name := range names {
		class, y := "", barsTop+barHeight*line
		if name == own {
			class = " own"
		}
		fmt.Fprintf(out, `<text class="name%s" x="12" y="%d">%s</text>`+"\n", class, y+14, html.EscapeString(name))
		for i, f := range facets {
			most := 0.0
			for _, figures := range variants {
				most = max(most, figures[f.figure].Median)
			}
			value, length := variants[name][f.figure].Median, 0.0
			if most > 0 {
				length = barWidth * value / most
			}
			fmt.Fprintf(out, `<rect class="bar%s" x="%d" y="%d" width="%.1f" height="%d"/><text x="%.1f" y="%d">%s</text>`+"\n",
				class, left(i), y+2, max(1, length), barHeight-7, float64(left(i))+length+5, y+14, readable(value))
		}
	}
	fmt.Fprintln(out, "</svg>")
}

// readable writes a number for people who read no units of thousands out of digits.
func readable(value float64) string {
	if value < 1000 {
		return short(value)
	}
	return fmt.Sprintf("%.0f,%03.0f", math.Floor(math.Round(value)/1000), math.Mod(math.Round(value), 1000))
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
