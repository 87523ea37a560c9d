package inventory

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// Labels are the labels of a pod. They are read only. Facts that were just read have the map of their object, and facts that
// are kept have a third of that, see Interner. A selector takes a pointer to them.
type Labels struct {
	object map[string]string
	kept   *labelSet // nil if there is none, or object has them
}

// labelSet holds the labels of one pod, or of many.
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

// Map returns the labels in a map of their own; nil if there are none.
func (l *Labels) Map() map[string]string {
	if l.kept == nil {
		return maps.Clone(l.object)
	}
	all := make(map[string]string, len(l.kept.values))
	for i, name := range *l.kept.names {
		all[name] = l.kept.values[i]
	}
	return all
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
