package ordercheck

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// world is every pod as of one resource version, and what has to be remembered of it.
type world struct {
	byNamespace map[string]map[string]*pod
	seen        sets.Set[types.NamespacedName] // names that some pod has had
	wasReady    sets.Set[types.NamespacedName] // names of which some pod has been ready
}

// pod is one pod, from its creation to its deletion.
type pod struct {
	*podFacts                  // as of now
	created   revision         // zero when it is older than the watch
	carried   sets.Set[string] // every gate it has been seen with
	early     bool             // its binding was a violation
}

func newWorld() *world {
	return &world{
		byNamespace: map[string]map[string]*pod{},
		seen:        sets.New[types.NamespacedName](),
		wasReady:    sets.New[types.NamespacedName](),
	}
}

// get returns nil for a pod that does not exist.
func (w *world) get(namespace, name string) *pod {
	return w.byNamespace[namespace][name]
}

// put brings a pod up to date, and says whether this is what bound it to a node.
func (w *world) put(f *podFacts, at revision) (p *pod, bound bool) {
	w.seen.Insert(f.NamespacedName)
	if f.ready && !f.terminating {
		w.wasReady.Insert(f.NamespacedName)
	}
	p = w.get(f.Namespace, f.Name)
	if p == nil || p.uid != f.uid {
		p = &pod{podFacts: &podFacts{}, created: at, carried: sets.New[string]()}
		if w.byNamespace[f.Namespace] == nil {
			w.byNamespace[f.Namespace] = map[string]*pod{}
		}
		w.byNamespace[f.Namespace][f.Name] = p
	}
	bound = p.node == "" && f.node != ""
	p.podFacts = f
	p.carried.Insert(f.gates...)
	return p, bound
}

// remove leaves a later pod of the same name alone.
func (w *world) remove(f *podFacts) {
	if p := w.get(f.Namespace, f.Name); p != nil && p.uid == f.uid {
		delete(w.byNamespace[f.Namespace], f.Name)
	}
}
