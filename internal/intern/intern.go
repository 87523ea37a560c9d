// Package intern keeps equal values only once. It is pure, and remembers only what was met lately, so that what it costs is
// bounded.
package intern

// Table remembers values by key: those of the last calls, and at most twice as many as Get is given. The zero value is empty. It
// is not safe for concurrent use.
type Table[V any] struct{ young, old map[string]V }

// MaxKey is the length of the longest key whose value is remembered: what somebody stores must not outlast it in numbers that
// matter.
const MaxKey = 4096

// Get returns the remembered value, which is made if there is none.
func (t *Table[V]) Get(key string, most int, make func() V) V {
	if len(key) > MaxKey {
		return make()
	}
	value, known := t.young[key]
	if known {
		return value
	}
	if value, known = t.old[key]; !known {
		value = make()
	}
	if t.young == nil || len(t.young) >= most {
		t.young, t.old = map[string]V{}, t.young
	}
	t.young[key] = value
	return value
}

// Len returns how many values are remembered.
func (t *Table[V]) Len() int { return len(t.young) + len(t.old) }
