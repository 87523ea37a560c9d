package sequence

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// An index holds the values of each key, and no key without any. A count holds no key whose number is 0.

func insert[K comparable, V comparable](index map[K]map[V]struct{}, key K, value V) {
	if index[key] == nil {
		index[key] = map[V]struct{}{}
	}
	index[key][value] = struct{}{}
}

func remove[K comparable, V comparable](index map[K]map[V]struct{}, key K, value V) {
	delete(index[key], value)
	if len(index[key]) == 0 {
		delete(index, key)
	}
}

// smallSet is a set that takes little memory while it is small, as that of the pods of an owner or of a node is: a map with one value takes
// 200 bytes.
type smallSet[V comparable] struct {
	few  []V
	many map[V]struct{} // takes the place of few when there are more than mostFew
}

// mostFew is how many values are looked at one after the other to find one of them.
const mostFew = 128

func (s *smallSet[V]) len() int { return len(s.few) + len(s.many) }

// add adds a value that is not in the set.
func (s *smallSet[V]) add(value V) {
	switch {
	case s.many != nil:
		s.many[value] = struct{}{}
	case len(s.few) < mostFew:
		s.few = append(s.few, value)
	default:
		s.many = map[V]struct{}{value: {}}
		for _, other := range s.few {
			s.many[other] = struct{}{}
		}
		s.few = nil
	}
}

func (s *smallSet[V]) remove(value V) {
	if s.many != nil {
		delete(s.many, value)
		return
	}
	if i := slices.Index(s.few, value); i >= 0 {
		last := len(s.few) - 1
		s.few[i] = s.few[last]
		s.few = slices.Delete(s.few, last, last+1)
	}
}

// all returns the values in any order. The set must not change meanwhile.
func (s *smallSet[V]) all() iter.Seq[V] {
	if s == nil {
		return func(func(V) bool) {}
	}
	if s.many != nil {
		return maps.Keys(s.many)
	}
	return slices.Values(s.few)
}

// smallSets is an index whose sets are small.
type smallSets[K, V comparable] map[K]*smallSet[V]

func (x smallSets[K, V]) insert(key K, value V) {
	if x[key] == nil {
		x[key] = &smallSet[V]{}
	}
	x[key].add(value)
}

func (x smallSets[K, V]) remove(key K, value V) {
	set := x[key]
	if set == nil {
		return
	}
	if set.remove(value); set.len() == 0 {
		delete(x, key)
	}
}

func bump(counts *map[string]int, key string, sign int) {
	if *counts == nil {
		*counts = map[string]int{}
	}
	(*counts)[key] += sign
	if (*counts)[key] == 0 {
		delete(*counts, key)
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// sooner returns the earlier of two moments, of which zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// compareKeys orders sequences by namespace and name.
func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

func less(a, b types.NamespacedName) bool { return compareKeys(a, b) < 0 }
