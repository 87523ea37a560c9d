package sequence

import (
	"cmp"
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

// lists is an index that keeps the values of each key in a list, as there are few pods of most owners and nodes: a map with one value takes
// 200 bytes. The caller must not add a value twice.
type lists[K, V comparable] map[K][]V

func (x lists[K, V]) add(key K, value V) { x[key] = append(x[key], value) }

func (x lists[K, V]) remove(key K, value V) {
	values, last := x[key], len(x[key])-1
	i := slices.Index(values, value)
	switch {
	case i < 0:
	case last == 0:
		delete(x, key)
	default:
		values[i] = values[last]
		x[key] = slices.Delete(values, last, last+1)
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

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

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
