package sequence

import (
	"maps"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// published is what can be read without a lock.
type published struct {
	pods       sync.Map    // *publishedPod by types.NamespacedName: those without a node
	namespaces sync.Map    // *publishedNamespace by name: those that have sequences
	nodes      sync.Map    // *node by name
	refusing   sync.Map    // names of namespaces that do not allow some sequence
	selectors  atomic.Bool // some sequence selects namespaces by label
}

// asksNamespaces reports what Sighting.AsksNamespaces says.
func (p *published) asksNamespaces(namespace string) bool {
	_, refuses := p.refusing.Load(namespace)
	return refuses || p.selectors.Load()
}

// sighting completes the sighting of a pod with whether it matters what Namespaces say. It takes no lock.
func (p *published) sighting(namespace string, seen Sighting) Sighting {
	seen.AsksNamespaces = p.asksNamespaces(namespace)
	return seen
}

// publishedPod is what the engine says of a pod. Readers find all but held and times.released as it always was.
type publishedPod struct {
	uid             types.UID
	resourceVersion string
	memberships     []membership // as of the pod: no element is ever written to
	limits          *limits      // nil if nothing keeps the pod from any node
	held            atomic.Bool

	// opened and reason are for the engine alone, see verdict.
	opened uint64
	reason reason

	times     publishedTimes
	firstSeen Sighting
	facts     inventory.VerdictFacts
}

// needs returns the pod's places that keep it from some nodes.
func (p *publishedPod) needs() []membership {
	if p.limits == nil {
		return nil
	}
	return p.limits.needs
}

// holdsFor reports whether what is published holds for another version of the pod.
func (p *publishedPod) holdsFor(object *corev1.Pod) bool {
	view := inventory.ViewPod(object)
	return p.facts.SameVerdict(&view.VerdictFacts)
}

func (p *publishedPod) sighting(object *corev1.Pod) Sighting {
	if p == nil || p.uid != object.UID || len(object.Spec.SchedulingGates) == 0 && len(p.facts.Gates()) > 0 {
		return Sighting{Version: object.ResourceVersion}
	}
	return p.firstSeen
}

// publishedNamespace has the sequences of a namespace, if a pod can be matched with them in a short time.
type publishedNamespace struct {
	sequences map[*sequence]spec.Reach
	tooMany   bool
}

// find returns what is published of a pod of this name. It is known if it is about this version of the pod, about a newer
// one, or about one that belongs to the same groups and may use the same nodes.
func (p *published) find(object *corev1.Pod) (seen *publishedPod, known bool) {
	found, ok := p.pods.Load(types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
	if !ok {
		return nil, false
	}
	seen = found.(*publishedPod)
	return seen, !inventory.Newer(object.ResourceVersion, seen.resourceVersion) ||
		(seen.uid == object.UID && seen.holdsFor(object))
}

// matchUnseen works out the memberships of a pod that is not known, and whether it is confirmed that all its sequences release it.
func (p *published) matchUnseen(object *corev1.Pod, set *settings) (memberships []membership, released bool) {
	found, any := p.namespaces.Load(object.Namespace)
	if !any {
		return nil, true
	}
	namespace := found.(*publishedNamespace)
	if namespace.tooMany {
		return nil, false
	}
	view := viewPod(object)
	for s, reach := range namespace.sequences {
		m, has := s.place(view, reach)
		if has && !set.releasesUnseen(view, m) {
			return nil, false
		}
		if has {
			memberships = append(memberships, m)
		}
	}
	// What one sequence releases it releases from then on, unless it is edited or deleted. So they all release the pod now.
	again, _ := p.namespaces.Load(object.Namespace)
	return memberships, again == found
}

// forget has nothing read any more of a pod that is gone or has a node.
func (p *published) forget(gone *pod) {
	if gone.published != nil {
		gone.published = nil
		p.pods.Delete(types.NamespacedName{Namespace: gone.Namespace, Name: gone.Name})
	}
	if gone.Bound() {
		gone.unbound = bound
	}
}

// storeNamespace has the sequences of a namespace read from now on.
func (p *published) storeNamespace(name string, ns *namespace) {
	if ns == nil || len(ns.sequences) == 0 {
		p.namespaces.Delete(name)
		return
	}
	view := &publishedNamespace{tooMany: ns.matchCost > MaxMatchCost}
	if !view.tooMany {
		view.sequences = maps.Clone(ns.sequences)
	}
	p.namespaces.Store(name, view)
}

// storeNodes has the nodes read from now on on which sequences have nothing, see emptynode.go.
func (p *published) storeNodes(names []string, all *nodes) {
	for _, name := range names {
		if n := all.byName[name]; n != nil {
			p.nodes.Store(name, n)
		} else {
			p.nodes.Delete(name)
		}
	}
}
