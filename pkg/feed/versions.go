package feed

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// versions knows whether resource versions of different kinds can be compared. They can as long as one etcd stores all
// kinds, which an API server with --etcd-servers-overrides does not promise. Versions of one kind can always be compared.
//
// All fields are guarded by mu. No lock is held while proven is called.
type versions struct {
	// proven is called once, when versions turn out not to be comparable.
	proven func(resource, version, seen string)

	mu       sync.Mutex
	newest   string // that was seen of any kind
	entered  string // the newest of what has entered the engine
	compared bool   // all kinds were looked at, and nothing spoke against it
	split    bool   // once true it stays so
}

func newVersions(proven func(resource, version, seen string)) *versions {
	return &versions{proven: proven}
}

// saw notes that the API server has had this version.
func (v *versions) saw(version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.newest = latest(v.newest, version)
}

// enter notes that an event of this version has entered the engine.
func (v *versions) enter(version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.newest, v.entered = latest(v.newest, version), latest(v.entered, version)
}

// seen is the newest version that was seen so far.
func (v *versions) seen() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.newest
}

// known is the newest version of what has entered the engine.
func (v *versions) known() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.entered
}

// listed notes the version of a consistent list that began after another version had been seen. A list that is behind what
// was there before it began is stored elsewhere.
func (v *versions) listed(resource, version, seen string) {
	v.mu.Lock()
	first := !v.split && after(seen, version)
	v.split = v.split || first
	v.newest = latest(v.newest, version)
	v.mu.Unlock()
	if first {
		v.proven(resource, version, seen)
	}
}

// compare notes that lists of all kinds never fell behind each other.
func (v *versions) compare() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.compared = true
}

// comparable reports whether versions of different kinds can be compared, as far as anybody can know.
func (v *versions) comparable() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.compared && !v.split
}

// isSplit reports whether it is known that they cannot be.
func (v *versions) isSplit() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.split
}

func latest(a, b string) string {
	if after(b, a) {
		return b
	}
	return a
}

// after reports whether version a is later than b. The empty version is earlier than any.
func after(a, b string) bool {
	switch {
	case a == "" || a == b:
		return false
	case b == "":
		return true
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}
