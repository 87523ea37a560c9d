package census

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Place is where something is counted: a namespace. An object that is in no namespace is a place of its own, by its name.
type Place struct{ Namespace, Name string }

const (
	// MaxPlaces is how many places a metric names at a time. Users decide how many namespaces have a problem, so a metric that named
	// all of them would have no bound. A metric counts further places together.
	MaxPlaces = 200

	// OtherPlaces is the namespace that stands for the places that a metric does not name. No namespace can have this name.
	OtherPlaces = "(other)"
)

// labelsOfPlaces are the labels of a place. A metric of objects that are all in namespaces has only the first.
var labelsOfPlaces = []string{"namespace", "name"}

func (p Place) labels(width int) []string { return []string{p.Namespace, p.Name}[:width] }

// metric is what the collectors of places have in common: how a sample of one place looks.
type metric struct {
	desc  *prometheus.Desc
	width int // number of labels that say the place
}

func newMetric(name, help string, width int, others []string) metric {
	labels := append(slices.Clone(labelsOfPlaces[:width]), others...)
	return metric{prometheus.NewDesc(name, "[ALPHA] "+help, labels, nil), width}
}

// Describe implements prometheus.Collector.
func (m metric) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- m.desc }

func (m metric) send(collected chan<- prometheus.Metric, place Place, value float64, others ...string) {
	collected <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, value, append(place.labels(m.width), others...)...)
}

// Places counts objects by place and by other labels. It has samples only of places where there is something to count.
type Places[K comparable] struct {
	metric

	lock    sync.Mutex
	objects map[K]placed
	places  map[Place]*arrival
	arrived uint64
}

// placed is what was said last of an object.
type placed struct {
	place Place
	items []Item
}

// arrival is when a place got its first object, of those that it has.
type arrival struct {
	number  uint64
	objects int
}

// NewPlaces returns a collector that counts nothing yet, of objects that are all in namespaces.
func NewPlaces[K comparable](name, help string, others ...string) *Places[K] {
	return newPlaces[K](newMetric(name, help, 1, others))
}

// NewNamedPlaces is NewPlaces for objects of which some are in no namespace.
func NewNamedPlaces[K comparable](name, help string, others ...string) *Places[K] {
	return newPlaces[K](newMetric(name, help, 2, others))
}

func newPlaces[K comparable](m metric) *Places[K] {
	return &Places[K]{metric: m, objects: map[K]placed{}, places: map[Place]*arrival{}}
}

// Set replaces what is counted for an object. No items are the same as Forget.
func (p *Places[K]) Set(key K, place Place, items ...Item) {
	p.lock.Lock()
	defer p.lock.Unlock()
	before, known := p.objects[key]
	if len(items) > 0 {
		p.objects[key] = placed{place, items}
		p.enter(place) // before the other leaves: the place keeps its number
	} else {
		delete(p.objects, key)
	}
	if known {
		p.leave(before.place)
	}
}

// Forget stops counting an object.
func (p *Places[K]) Forget(key K) { p.Set(key, Place{}) }

func (p *Places[K]) enter(place Place) {
	if p.places[place] == nil {
		p.arrived++
		p.places[place] = &arrival{number: p.arrived}
	}
	p.places[place].objects++
}

func (p *Places[K]) leave(place Place) {
	p.places[place].objects--
	if p.places[place].objects == 0 {
		delete(p.places, place)
	}
}

// Collect implements prometheus.Collector. It names the places that have had something to count for longest: new ones do not take
// the names of those that somebody may be looking at.
func (p *Places[K]) Collect(collected chan<- prometheus.Metric) {
	p.lock.Lock()
	defer p.lock.Unlock()
	order := slices.SortedFunc(maps.Keys(p.places), func(a, b Place) int { return cmp.Compare(p.places[a].number, p.places[b].number) })
	named := named(order)
	counts := map[Place]map[string]*Item{}
	for _, object := range p.objects {
		place := named(object.place)
		if counts[place] == nil {
			counts[place] = map[string]*Item{}
		}
		for _, item := range object.items {
			key := strings.Join(item.Labels, "\xff")
			if counts[place][key] == nil {
				counts[place][key] = &Item{Labels: item.Labels}
			}
			counts[place][key].Count += item.Count
		}
	}
	for place, items := range counts {
		for _, item := range items {
			p.send(collected, place, float64(item.Count), item.Labels...)
		}
	}
}

// named returns which place a metric names for each of these, which come in the order in which they are named.
func named(order []Place) func(Place) Place {
	if len(order) <= MaxPlaces {
		return func(place Place) Place { return place }
	}
	first := map[Place]bool{}
	for _, place := range order[:MaxPlaces] {
		first[place] = true
	}
	return func(place Place) Place {
		if first[place] {
			return place
		}
		return Place{Namespace: OtherPlaces}
	}
}

// Ages is a collector of the age of the oldest thing in each place.
type Ages struct {
	metric
	oldest func() map[Place]time.Time
}

// NewAges returns a collector that asks when the oldest thing in each place, a namespace, began to be as it is.
func NewAges(name, help string, oldest func() map[Place]time.Time) *Ages {
	return &Ages{newMetric(name, help, 1, nil), oldest}
}

// NewNamedAges is NewAges for things of which some are in no namespace.
func NewNamedAges(name, help string, oldest func() map[Place]time.Time) *Ages {
	return &Ages{newMetric(name, help, 2, nil), oldest}
}

// Collect implements prometheus.Collector. It names the places with the oldest things.
func (a *Ages) Collect(collected chan<- prometheus.Metric) {
	a.collect(collected, time.Now())
}

func (a *Ages) collect(collected chan<- prometheus.Metric, now time.Time) {
	oldest := a.oldest()
	order := slices.SortedFunc(maps.Keys(oldest), func(a, b Place) int {
		return cmp.Or(oldest[a].Compare(oldest[b]), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for i, place := range order {
		since := oldest[place]
		if i == MaxPlaces {
			place = Place{Namespace: OtherPlaces}
		}
		a.send(collected, place, max(0, now.Sub(since).Seconds()))
		if i == MaxPlaces {
			return // what follows is younger
		}
	}
}

// Oldest knows since when each object has been as it is, and where it is.
type Oldest[K comparable] struct {
	lock  sync.Mutex
	since map[K]sighting
}

type sighting struct {
	place Place
	since time.Time
}

// NewOldest returns one that knows no object.
func NewOldest[K comparable]() *Oldest[K] { return &Oldest[K]{since: map[K]sighting{}} }

// Set says since when an object has been as it is.
func (o *Oldest[K]) Set(key K, place Place, since time.Time) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.since[key] = sighting{place, since}
}

// Forget leaves an object out from now on.
func (o *Oldest[K]) Forget(key K) {
	o.lock.Lock()
	defer o.lock.Unlock()
	delete(o.since, key)
}

// ByPlace returns since when the oldest object of each place has been as it is.
func (o *Oldest[K]) ByPlace() map[Place]time.Time {
	o.lock.Lock()
	defer o.lock.Unlock()
	oldest := map[Place]time.Time{}
	for _, s := range o.since {
		if first, any := oldest[s.place]; !any || s.since.Before(first) {
			oldest[s.place] = s.since
		}
	}
	return oldest
}

// Names bounds the values of a label of counters. A counter cannot give up a name, so the first MaxPlaces keep theirs until the
// process ends.
type Names struct {
	lock  sync.Mutex
	known map[string]bool
}

// Of returns the value of the label for a namespace.
func (n *Names) Of(namespace string) string {
	n.lock.Lock()
	defer n.lock.Unlock()
	switch {
	case n.known[namespace]:
		return namespace
	case len(n.known) == MaxPlaces:
		return OtherPlaces
	case n.known == nil:
		n.known = map[string]bool{}
	}
	n.known[namespace] = true
	return namespace
}
