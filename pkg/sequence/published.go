package sequence

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
)

// published is what can be read without waiting for an event.
type published struct {
	pods       sync.Map // *publishedPod by types.NamespacedName: those without a node
	namespaces sync.Map // *publishedNamespace by name: those that have sequences
	existing   existing
}

// publishedPod is what the engine says of a pod. Readers find all but held and refused as it always was.
type publishedPod struct {
	*inventory.Pod               // the version that it is about
	places         *[]membership // as of the pod
	kept           *[]membership // the same
	held           atomic.Bool
	refused        atomic.Pointer[noNodeOpen] // nil if it was held since

	// opened and reason are for the engine alone, see verdict.
	opened uint64
	reason reason
}

// publishedNamespace holds the sequences of a namespace, if a pod can be matched with them in a short time.
type publishedNamespace struct {
	sequences map[*sequence]order.GroupSet
	tooMany   bool
}

// existing is which sequences there are by name, and which namespaces require one. Readers look at it without waiting for an event, so
// what is gone leaves before anything else that its event changes is published, and what is new comes after the namespaces that it
// reaches: who finds a sequence here finds it there.
type existing struct {
	sequences sync.Map // by types.NamespacedName
	// namespaces maps the known namespaces to whether they require a sequence.
	namespaces sync.Map
	// uninstalled reports that the kind PodSequence is not installed. Then nobody can create what pods wait for.
	uninstalled atomic.Bool
}

// unseenPods are pods that wait because of an answer about a version of them that no event has brought yet. Their release is reported
// when they come.
//
// They have a lock of their own, because Decide notes them under the engine's read lock.
type unseenPods struct {
	mu       sync.Mutex
	versions map[types.UID]string
	brought  string // the newest version of a pod that an event or a list has brought
}

func (p *publishedPod) memberships() []membership { return membershipsIn(p.places) }

func (p *publishedPod) needs() []membership { return membershipsIn(p.kept) }

// holdsFor reports whether what is published holds for another version of the pod.
func (p *publishedPod) holdsFor(object *corev1.Pod) bool {
	view := inventory.ViewPod(object)
	return p.SameVerdict(&view)
}

// pod returns what is published of a pod; nil if nothing is.
func (p *published) pod(key types.NamespacedName) *publishedPod {
	found, _ := p.pods.Load(key)
	pod, _ := found.(*publishedPod)
	return pod
}

// find returns what is published of a pod of this name. It is known if it is about this version of the pod, about a newer
// one, or about one that belongs to the same groups and may use the same nodes.
func (p *published) find(object *corev1.Pod) (seen *publishedPod, known bool) {
	seen = p.pod(types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
	return seen, seen != nil && (!inventory.Newer(object.ResourceVersion, seen.ResourceVersion) ||
		(seen.UID == object.UID && seen.holdsFor(object)))
}

// withdraw withdraws what is published of a pod that is gone or has a node.
func (p *published) withdraw(gone *pod) {
	if gone.published != nil {
		gone.published = nil
		p.pods.Delete(gone.key())
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

// holds reports whether a pod of this name is held, by what is published of it.
func (p *published) holds(object *corev1.Pod) bool {
	seen := p.pod(types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
	return seen != nil && seen.held.Load()
}

// reaches reports whether any sequence has groups that may have members in a namespace.
func (p *published) reaches(namespace string) bool {
	_, any := p.namespaces.Load(namespace)
	return any
}

// join returns what decides whether a pod waits for a sequence that does not exist. selected reports whether it has memberships.
func (x *existing) join(p *pod, selected bool, set *settings) order.Join {
	if x.uninstalled.Load() || order.IsOwn(set.InstallationNamespace, p.Namespace, &p.Labels) {
		return order.Join{}
	}
	j := order.Join{
		Ours: set.isOurs(p), Gated: set.hasLiftableGate(p), Named: order.NamedSequence(&p.Labels),
		Required: x.requires(p.Namespace), Selected: selected, Unordered: p.IsUnordered(),
	}
	if j.Named != "" {
		_, j.Exists = x.sequences.Load(types.NamespacedName{Namespace: p.Namespace, Name: j.Named})
	}
	return j
}

// missing is what the pod waits for because it does not exist.
func (x *existing) missing(p *pod, set *settings) order.Missing {
	return x.join(p, len(p.memberships()) > 0, set).Missing()
}

// concerns reports whether a pod may wait for a sequence that does not exist.
func (x *existing) concerns(object *corev1.Pod) bool {
	return object.Labels[v1alpha1.SequenceLabel] != "" || x.requires(object.Namespace)
}

// requires reports whether a namespace requires a sequence.
func (x *existing) requires(namespace string) bool {
	required, known := x.namespaces.Load(namespace)
	return known && required.(bool)
}

// setNamespace notes whether a namespace requires a sequence. It returns whether that is news.
func (x *existing) setNamespace(name string, required bool) bool {
	was, known := x.namespaces.Swap(name, required)
	return required != (known && was.(bool))
}

// add notes a pod. One that an event must have brought by now is either known or gone, and would never be taken out again.
func (u *unseenPods) add(uid types.UID, version string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.brought == "" || inventory.Newer(version, u.brought) {
		u.versions[uid] = version
	}
}

// newest is the newest version of a pod that was brought.
func (u *unseenPods) newest() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.brought
}

// take reports whether the pod was noted, and forgets that.
func (u *unseenPods) take(uid types.UID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, was := u.versions[uid]
	delete(u.versions, uid)
	return was
}

// advance notes that all pods are published up to a version. No pod is noted any more that an event up to it has brought.
func (u *unseenPods) advance(version string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if inventory.Behind(u.brought, version) {
		u.brought = version
	}
}

// listed forgets the pods that a list of this version does not have and should. Those that it has were taken before.
func (u *unseenPods) listed(version string) {
	u.advance(version)
	u.mu.Lock()
	defer u.mu.Unlock()
	for uid, seen := range u.versions {
		if !inventory.Newer(seen, version) {
			delete(u.versions, uid)
		}
	}
}

// MaxMatchCost bounds what is done for a pod that the engine does not know, in labels that are compared: about 0.1 ms.
const MaxMatchCost = 2000

// matchUnseen works out the memberships of a pod that is not known, and whether all its sequences release it.
func (p *published) matchUnseen(object *corev1.Pod, set *settings) (memberships []membership, released bool) {
	if !p.existing.concerns(object) {
		return p.matchSequences(object, set)
	}
	view := viewPod(object)
	if p.existing.join(view, true, set).Missing() != order.NothingMissing {
		return nil, false
	}
	before, _ := p.namespaces.Load(object.Namespace)
	memberships, released = p.matchSequences(object, set)
	// Once more: a sequence that was deleted meanwhile may have been the one.
	if !released || p.existing.join(view, len(memberships) > 0, set).Missing() != order.NothingMissing {
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

// inVain returns when the pod was refused, if no node has opened or closed since; zero if it was not.
func (p *publishedPod) inVain() time.Time {
	if r := p.refused.Load(); r != nil && r.opens == r.to.sequence.opens.Load() && slices.Contains(p.needs(), r.to) {
		return r.at
	}
	return time.Time{}
}

// publishedDomain is how far a domain was when it was last published.
type publishedDomain struct {
	standing
	node *node // nil in the cluster, and while the node is not known
	// ripe are the groups whose pass is to be recorded.
	ripe order.GroupSet
	// failed are the groups under way of which members failed.
	failed order.GroupSet
	// lost is when a group was last lost, see lastLost.
	lost inventory.Timestamp
	// unpublished marks the domains of a sequence that is new, or new in this form.
	unpublished bool
}
