package inventory

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// Labels are the labels of a pod. They are read only. A selector takes a pointer to them.
type Labels struct{ set *labelSet } // nil if there is none

// labelSet holds the labels of one pod, or of many. Facts that were just read have the map of their object, and facts that are kept have
// the rest, which takes a third of that, see Interner.
type labelSet struct {
	object map[string]string
	names  *[]string // sorted, and shared by all that have labels of the same names; nil if object has them
	values []string  // in the order of names
}

var _ labels.Labels = &Labels{}

// LabelsOf returns the labels of an object.
func LabelsOf(object map[string]string) Labels {
	if len(object) == 0 {
		return Labels{}
	}
	return Labels{&labelSet{object: object}}
}

// areKept reports whether they are not those of an object.
func (l *Labels) areKept() bool { return l.set != nil && l.set.names != nil }

// Lookup returns the value of a label, and whether there is such a label.
func (l *Labels) Lookup(name string) (value string, has bool) {
	switch {
	case l.set == nil:
		return "", false
	case !l.areKept():
		value, has = l.set.object[name]
		return value, has
	}
	if i, found := slices.BinarySearch(*l.set.names, name); found { // they may be very many
		return l.set.values[i], true
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
	switch {
	case l.set == nil:
		return nil
	case !l.areKept():
		return maps.Clone(l.set.object)
	}
	all := make(map[string]string, len(l.set.values))
	for i, name := range *l.set.names {
		all[name] = l.set.values[i]
	}
	return all
}

// Len returns the number of labels.
func (l *Labels) Len() int {
	switch {
	case l.set == nil:
		return 0
	case !l.areKept():
		return len(l.set.object)
	}
	return len(l.set.values)
}

// Equal reports whether both are the same labels.
func (l *Labels) Equal(other *Labels) bool {
	switch {
	case l.set == other.set:
		return true
	case l.Len() != other.Len():
		return false
	case !l.areKept() && !other.areKept():
		return maps.Equal(l.set.object, other.set.object)
	case !l.areKept():
		return other.Equal(l)
	}
	for i, name := range *l.set.names {
		if value, has := other.Lookup(name); !has || value != l.set.values[i] {
			return false
		}
	}
	return true
}
