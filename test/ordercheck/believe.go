package ordercheck

import "k8s.io/apimachinery/pkg/util/sets"

// believe takes over what is known of a sequence older than the watch only by what its status records. Its groups may have been passed up
// to the start of the watch.
func (v *version) believe(began event) {
	v.assume(v.recorded, began)
	for _, d := range v.domains() { // the status does not tell of each node what was released there
		for g := range v.recordedReleased {
			d.hasReleased(g)
		}
		d.passedUntil(began.arrived)
	}
}

// assume takes groups for passed that the referee did not see pass.
func (v *version) assume(passed sets.Set[int], e event) {
	d := v.cluster
	if d == nil {
		return
	}
	for _, g := range sets.List(passed) {
		if d.groups[g].passed {
			continue
		}
		if !v.continuous {
			v.assumed++
		}
		d.assumePassed(g)
	}
	v.settle(d, e)
}

// remember notes what has been passed under the definitions of this version, and of those that it replaced a moment ago.
func (v *version) remember() {
	for ; v != nil; v = v.before {
		if v.cluster == nil {
			continue
		}
		for g, definition := range v.definitions {
			if v.cluster.groups[g].passed {
				v.passedAs.Insert(definition)
			}
		}
	}
}

// resume takes up what was passed under the same definitions before an edit that is now taken back: a pass holds while the definition is
// the one it was made under.
func (v *version) resume() {
	for g, definition := range v.definitions {
		if v.passedAs.Has(definition) && !v.cluster.groups[g].passed {
			v.cluster.assumePassed(g)
		}
	}
}
