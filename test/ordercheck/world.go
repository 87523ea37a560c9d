package ordercheck

import (
	"strings"
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
		ns = newNamespace()
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
	w.sayings[f.node.Name] = w.sayings[f.node.Name].then(f, e)
	return w.reviewNode(f.node.Name)
}

// consents reports whether a sequence may hold the pods to which it points.
func (w *world) consents(f *sequenceFacts) bool {
	if f.target == f.Namespace {
		return true
	}
	for _, allowed := range strings.Split(w.allows[f.target], ",") {
		if name := strings.Trim(allowed, " \t\r\n"); name == "*" || name == f.Namespace {
			return true
		}
	}
	return false
}

func (w *world) putNamespace(f *namespaceFacts, deleted bool) {
	if deleted {
		delete(w.allows, f.name)
		delete(w.labels, f.name)
		w.going.Delete(f.name)
		return
	}
	w.allows[f.name], w.labels[f.name] = f.allows, f.labels
	if f.going {
		w.going.Insert(f.name)
	} else {
		w.going.Delete(f.name) // another one of the name
	}
}

// isNowhere reports whether the node of the pod is gone, and the pod has not succeeded: what it says of itself does not count then.
func (w *world) isNowhere(p *pod) bool { return w.gone.Has(p.node) && !p.succeeded }

// reviewNode looks again at the pods on a node that has come or gone, and returns those of which it thinks otherwise now.
func (w *world) reviewNode(node string) []*pod {
	var turned []*pod
	for _, ns := range w.byNamespace {
		for _, p := range ns.onNode[node] {
			if before := p.nowhere; before != w.isNowhere(p) {
				p.nowhere = !before
				turned = append(turned, p)
			}
		}
	}
	return turned
}

// whyNot returns nothing for a pod that has reached what is required.
func (w *world) whyNot(key types.NamespacedName, reached v1alpha1.RequiredStatus) string {
	p := w.get(key.Namespace, key.Name)
	switch {
	case p == nil && w.seen.Has(key):
		return "was gone"
	case p == nil:
		return "had never existed"
	case p.terminating:
		return "was terminating"
	case p.has(reached):
		return ""
	case p.podFacts.has(reached):
		return "was on a node that was gone"
	case isMark(reached):
		return whyNoMark(reached)
	case reached == v1alpha1.RequireComplete:
		return "had not succeeded"
	case w.wasReady.Has(key):
		return "was no longer ready"
	}
	return "had never been ready"
}

// putRecords takes in what a status says of objects, and returns what it said before.
func (w *world) putRecords(e event) (was objectRecords) {
	was = w.records[e.sequence.uid]
	if e.deleted {
		delete(w.records, e.sequence.uid)
	} else {
		w.records[e.sequence.uid] = was.then(e.sequence.records, e.arrived)
	}
	return was
}
