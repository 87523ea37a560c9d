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

// published is what can be read without waiting for an event.
type published struct {
	pods       podTable    // those without a node
	namespaces sync.Map    // *publishedNamespace by name: those that have sequences
	nodes      sync.Map    // *node by name
	refusing   sync.Map    // names of namespaces that do not allow some sequence
	selectors  atomic.Bool // some sequence selects namespaces by label
	existing   existing
}

// asksNamespaces reports what FirstSeen.AsksNamespaces says.
func (p *published) asksNamespaces(namespace string) bool {
	_, refuses := p.refusing.Load(namespace)
	return refuses || p.selectors.Load() || p.existing.asksNamespaces(namespace)
}

// firstSeenIn returns when a pod of a namespace was first seen, with whether it matters what Namespaces say. It takes no lock.
func (p *published) firstSeenIn(namespace string, seen Question) FirstSeen {
	return FirstSeen{Version: seen.Version, Moment: seen.Moment, AsksNamespaces: p.asksNamespaces(namespace)}
}

// publishedPod is what the engine says of a pod. Readers find all but held and releasedAt as it always was.
type publishedPod struct {
	*inventory.Pod               // the version that it is about
	places         *[]membership // as of the pod
	firstSeen      Question      // the same
	nodeNeeds      *nodeNeeds    // nil if nothing keeps the pod from any node
	held           atomic.Bool
	releasedAt     atomic.Int64 // when it was held last, in nanoseconds; 0 while it is held, and if it never was. For metrics.

	// opened and reason are for the engine alone, see verdict.
	opened uint64
	reason reason
}

func (p *publishedPod) memberships() []membership { return membershipsIn(p.places) }

// needs returns the pod's places that keep it from some nodes.
func (p *publishedPod) needs() []membership {
	if p.nodeNeeds == nil {
		return nil
	}
	return p.nodeNeeds.needs
}

// holdsFor reports whether what is published holds for another version of the pod.
func (p *publishedPod) holdsFor(object *corev1.Pod) bool {
	view := inventory.ViewPod(object)
	return p.SameVerdict(&view.VerdictFacts)
}

// firstSeenAs asks for all from before the pod was first seen, without gates if the object has none.
func (p *publishedPod) firstSeenAs(object *corev1.Pod) Question {
	if p == nil || p.UID != object.UID || len(object.Spec.SchedulingGates) == 0 && len(p.Gates()) > 0 {
		return Question{Version: object.ResourceVersion}
	}
	return p.firstSeen
}

// publishedNamespace holds the sequences of a namespace, if a pod can be matched with them in a short time.
type publishedNamespace struct {
	sequences map[*sequence]spec.NamespaceGroups
	tooMany   bool
}

// find returns what is published of a pod of this name. It is known if it is about this version of the pod, about a newer
// one, or about one that belongs to the same groups and may use the same nodes.
func (p *published) find(object *corev1.Pod) (seen *publishedPod, known bool) {
	seen = p.pods.load(types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
	return seen, seen != nil && (!inventory.Newer(object.ResourceVersion, seen.ResourceVersion) ||
		(seen.UID == object.UID && seen.holdsFor(object)))
}

// matchUnseen works out the memberships of a pod that is not known, and whether it is confirmed that all its sequences release it.
func (p *published) matchUnseen(object *corev1.Pod, set *settings) (memberships []membership, released bool) {
	if !p.existing.concerns(object) {
		return p.matchSequences(object, set)
	}
	view := viewPod(object)
	if p.existing.join(view, true, set).Missing() != spec.NothingMissing {
		return nil, false
	}
	before, _ := p.namespaces.Load(object.Namespace)
	memberships, released = p.matchSequences(object, set)
	// Once more: a sequence that was deleted meanwhile may have been the one.
	if !released || p.existing.join(view, len(memberships) > 0, set).Missing() != spec.NothingMissing {
		return nil, false
	}
	// If it was created again since, the pod was matched without it. It is among the sequences of its namespace before it is found.
	after, _ := p.namespaces.Load(object.Namespace)
	return memberships, before == after
}

// matchSequences is matchUnseen for what the sequences of the namespace say.
func (p *published) matchSequences(object *corev1.Pod, set *settings) (memberships []membership, released bool) {
	found, any := p.namespaces.Load(object.Namespace)
	if !any {
		return nil, true
	}
	namespace := found.(*publishedNamespace)
	if namespace.tooMany {
		return nil, false
	}
	view := viewPod(object)
	for s, groups := range namespace.sequences {
		m, has := s.place(view, groups)
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

// withdraw withdraws what is published of a pod that is gone or has a node.
func (p *published) withdraw(gone *pod) {
	if gone.published != nil {
		gone.published = nil
		p.pods.delete(types.NamespacedName{Namespace: gone.Namespace, Name: gone.Name})
	}
	if gone.Bound() {
		gone.unbound = bound
	}
}

// publishNamespace publishes the sequences of a namespace.
func (p *published) publishNamespace(name string, ns *namespace) {
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

// publishNodes publishes the nodes, for sequences that have nothing on them, see emptynode.go.
func (p *published) publishNodes(names []string, all *nodes) {
	for _, name := range names {
		if n := all.byName[name]; n != nil {
			p.nodes.Store(name, n)
		} else {
			p.nodes.Delete(name)
		}
	}
}
