package ordercheck

import (
	"maps"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// world is everything as of one resource version, and what has to be remembered of it.
type world struct {
	requirements
	byNamespace map[string]*namespace
	nodes       map[string]*nodeFacts
	gone        sets.Set[string]               // names of nodes that were deleted, and that there are not
	sayings     map[string]sayings             // by node
	allows      map[string]string              // by namespace, whose sequences it lets hold its pods
	labels      map[string]labels.Set          // by namespace
	going       sets.Set[string]               // namespaces that are being deleted
	seen        sets.Set[types.NamespacedName] // names that some pod has had
	records     map[types.UID]objectRecords    // by the UID of the sequence whose status says them
	wasReady    sets.Set[types.NamespacedName] // names of which some pod has been ready
}

// namespace is what one namespace has.
type namespace struct {
	pods      map[string]*pod                   // by name
	owned     map[types.UID]map[string]*pod     // by the UID of their controller, then by name
	onNode    map[string]map[string]*pod        // by the node they are bound to, then by name
	workloads map[types.UID]*workloadFacts      // by UID
	owning    map[types.UID]sets.Set[types.UID] // workloads by the UID of their controller
	// unfinished is, by the UID of a CronJob that still has Jobs, when the newest of its Jobs was created that went before it was complete.
	unfinished map[types.UID]time.Time
	lost       []*lost // what failed, is gone, and has no successor yet
	found      bool    // the last pod that came was such a successor
	// replaced are Jobs that are still there after a younger one of their CronJob has gone.
	replaced sets.Set[types.UID]
}

// pod is one pod, from its creation to its deletion.
type pod struct {
	*podFacts          // as of now
	created   revision // zero when it is older than the watch
	ungated   revision // since when it has had no gate of any kind: nobody can bind it before; never while it has one
	// lifted are the sequences whose gate the pod lost while it belonged to another scheduler than ours. Nobody can hold it
	// afterwards.
	lifted    map[types.UID]lift
	readySeen time.Time // since when a scheduler may take it for ready, at the earliest; zero when it is not
	markSeen  marks     // the same for what else it has
	nowhere   bool      // see isNowhere
	// labelledSince is since when it has had its labels, namesSince since when that which names a PodSequence.
	labelledSince, namesSince moment
	// releasedLacking is what it lacked when it lost our gates.
	releasedLacking *lack
}

// never is later than any revision.
const never revision = math.MaxInt64

// lift is how a pod lost the gate of a sequence.
type lift struct {
	inOrder bool // the sequence had released it
	raced   bool // what the sequence says is younger than the pod, and no more than 2 s older than the lift
}

func newWorld() *world {
	return &world{
		requirements: newRequirements(),
		byNamespace:  map[string]*namespace{},
		nodes:        map[string]*nodeFacts{},
		gone:         sets.New[string](),
		sayings:      map[string]sayings{},
		allows:       map[string]string{},
		labels:       map[string]labels.Set{},
		going:        sets.New[string](),
		seen:         sets.New[types.NamespacedName](),
		records:      map[types.UID]objectRecords{},
		wasReady:     sets.New[types.NamespacedName](),
	}
}

func (w *world) in(name string) *namespace {
	ns := w.byNamespace[name]
	if ns == nil {
		ns = &namespace{
			pods: map[string]*pod{}, owned: map[types.UID]map[string]*pod{}, onNode: map[string]map[string]*pod{},
			workloads: map[types.UID]*workloadFacts{}, owning: map[types.UID]sets.Set[types.UID]{},
			unfinished: map[types.UID]time.Time{}, replaced: sets.New[types.UID](),
		}
		w.byNamespace[name] = ns
	}
	return ns
}

// get returns nil for a pod that does not exist.
func (w *world) get(namespace, name string) *pod {
	return w.in(namespace).pods[name]
}

// put brings a pod up to date, and says whether this is what bound it to a node.
func (w *world) put(e event) (p *pod, bound bool) {
	f := e.pod
	w.seen.Insert(f.NamespacedName)
	if f.ready && !f.terminating {
		w.wasReady.Insert(f.NamespacedName)
	}
	ns := w.in(f.Namespace)
	p = ns.pods[f.Name]
	if p == nil || p.uid != f.uid {
		w.remove(f.Namespace, f.Name)
		p = &pod{podFacts: &podFacts{}, created: e.revision, ungated: never, lifted: map[types.UID]lift{}}
	} else {
		if f.terminating {
			ns.losePod(p.podFacts)
		}
		w.remove(f.Namespace, f.Name)
	}
	ns.findPod(f)
	bound = p.node == "" && f.node != ""
	switch {
	case !f.ready:
		p.readySeen = time.Time{}
	case !p.ready || !f.readyAt.Equal(p.readyAt):
		p.readySeen = e.earliest
		if !f.readyAt.IsZero() {
			// What a kubelet says counts, though its clock may be wrong: not before the pod was bound, and not in the future.
			p.readySeen = earlier(later(f.readyAt, later(f.createdAt, f.boundAt)), e.earliest)
		}
	}
	p.noteLabels(f, e)
	p.noteMarks(f, e)
	p.podFacts = f
	p.nowhere = w.isNowhere(p)
	if len(f.gates) > 0 {
		p.ungated = never
	} else {
		p.ungated = min(p.ungated, e.revision)
	}
	ns.pods[f.Name] = p
	index(ns.owned, f.owner.uid, p)
	index(ns.onNode, f.node, p)
	return p, bound
}

func (w *world) remove(namespace, name string) {
	ns := w.in(namespace)
	p := ns.pods[name]
	if p == nil {
		return
	}
	delete(ns.pods, name)
	unindex(ns.owned, p.owner.uid, p)
	unindex(ns.onNode, p.node, p)
}

// end removes a pod, but leaves a later one of the same name alone.
func (w *world) end(f *podFacts) {
	if p := w.get(f.Namespace, f.Name); p != nil && p.uid == f.uid {
		w.in(f.Namespace).losePod(p.podFacts)
		w.remove(f.Namespace, f.Name)
	}
}

func index[K comparable](by map[K]map[string]*pod, key K, p *pod) {
	if key == *new(K) {
		return
	}
	if by[key] == nil {
		by[key] = map[string]*pod{}
	}
	by[key][p.Name] = p
}

func unindex[K comparable](by map[K]map[string]*pod, key K, p *pod) {
	delete(by[key], p.Name)
	if len(by[key]) == 0 {
		delete(by, key)
	}
}

func (w *world) putWorkload(f *workloadFacts, deleted bool) {
	ns := w.in(f.Namespace)
	w.putHook(f, deleted)
	if deleted {
		ns.loseJob(f)
		delete(ns.workloads, f.uid)
		ns.owning[f.owner.uid].Delete(f.uid)
		if ns.owning[f.owner.uid].Len() == 0 {
			delete(ns.unfinished, f.owner.uid)
		}
		return
	}
	ns.workloads[f.uid] = f
	ns.findJob(f)
	if f.owner.uid != "" {
		if ns.owning[f.owner.uid] == nil {
			ns.owning[f.owner.uid] = sets.New[types.UID]()
		}
		ns.owning[f.owner.uid].Insert(f.uid)
	}
}

// putNode brings a node up to date, and returns the pods on it that count now and did not, or the other way round.
func (w *world) putNode(e event) []*pod {
	f := e.node
	if e.deleted {
		delete(w.nodes, f.node.Name)
		w.gone.Insert(f.node.Name)
		delete(w.sayings, f.node.Name)
		return w.reviewNode(f.node.Name)
	}
	w.nodes[f.node.Name] = f
	w.gone.Delete(f.node.Name)
	w.noteConditions(f, e)
	return w.reviewNode(f.node.Name)
}

// noteLabels notes since when the pod has the labels that it has now. Those that the API server gives it with its node, such as the
// zone of that, are none that a scheduler went by.
func (p *pod) noteLabels(f *podFacts, e event) {
	isNew := p.uid != f.uid
	if !isNew && p.node == "" && f.node != "" {
		return
	}
	if isNew || !maps.Equal(p.labels, f.labels) {
		p.labelledSince = momentOf(e)
	}
	if isNew || p.labels[v1alpha1.SequenceLabel] != f.labels[v1alpha1.SequenceLabel] {
		p.namesSince = momentOf(e)
	}
}
