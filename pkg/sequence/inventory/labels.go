package inventory

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"example.com/podsequence/pkg/intern"
)

// Labels are the labels of a pod. They are read only. Facts that were just read have the map of their object, and facts that
// are kept have a third of that, see Shared. A selector takes a pointer to them.
type Labels struct {
	object map[string]string
	kept   *labelSet // nil if there is none, or object has them
}

// labelSet has the labels of one pod, or of many.
type labelSet struct {
	names  *[]string // sorted, and shared by all that have labels of the same names
	values []string  // in the order of names
}

var _ labels.Labels = &Labels{}

// LabelsOf returns the labels of an object.
func LabelsOf(object map[string]string) Labels { return Labels{object: object} }

// Lookup returns the value of a label, and whether there is such a label.
func (l *Labels) Lookup(name string) (value string, has bool) {
	if l.kept == nil {
		value, has = l.object[name]
		return value, has
	}
	if i, found := slices.BinarySearch(*l.kept.names, name); found { // they may be very many
		return l.kept.values[i], true
	}
	return "", false
}

// Get returns the value of a label; empty if there is none.
func (l *Labels) Get(name string) string {
	value, _ := l.Lookup(name)
	return value
}

// Has reports whether there is such a label.
func (l *Labels) Has(name string) bool {
	_, has := l.Lookup(name)
	return has
}

// Len returns the number of labels.
func (l *Labels) Len() int {
	if l.kept == nil {
		return len(l.object)
	}
	return len(l.kept.values)
}

// Equal reports whether both are the same labels.
func (l *Labels) Equal(other *Labels) bool {
	switch {
	case l.Len() != other.Len():
		return false
	case l.kept == nil && other.kept == nil:
		return maps.Equal(l.object, other.object)
	case l.kept == other.kept:
		return true
	case l.kept == nil:
		return other.Equal(l)
	}
	for i, name := range *l.kept.names {
		if value, has := other.Lookup(name); !has || value != l.kept.values[i] {
			return false
		}
	}
	return true
}

// maxShared bounds how many sets of labels, and how many sets of names, are remembered.
const maxShared = 512

// Shared has pods that are kept share what many have in common. It is not safe for concurrent use.
type Shared struct {
	labels intern.Table[*labelSet]
	names  intern.Table[*[]string]
}

// Keep has the facts of a pod take as little memory as they can, before they are kept. before are the facts of the same pod that
// they replace; they may be the zero value.
func (s *Shared) Keep(p, before *Pod) {
	switch {
	case p.Labels.Len() == 0:
		p.Labels = Labels{}
	case before.Labels.kept != nil && before.Labels.Equal(&p.Labels):
		p.Labels = before.Labels
	case p.Labels.kept == nil:
		p.Labels = Labels{kept: s.set(p.Labels.object, p.Name)}
	}
}

func (s *Shared) set(object map[string]string, pod string) *labelSet {
	sorted := slices.Sorted(maps.Keys(object))
	var key strings.Builder
	for _, name := range sorted {
		key.WriteString(name)
		key.WriteByte(0)
	}
	names := s.names.Get(key.String(), maxShared, func() *[]string { return &sorted })
	for _, name := range *names {
		key.WriteString(object[name])
		key.WriteByte(0)
	}
	return s.labels.Get(key.String(), maxShared, func() *labelSet {
		set := &labelSet{names, make([]string, len(*names))}
		for i, name := range *names {
			if set.values[i] = object[name]; set.values[i] == pod {
				set.values[i] = pod // as the pods of a StatefulSet have it
			}
		}
		return set
	})
}
