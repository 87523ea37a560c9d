package sequence

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Config is what the operator of the cluster decides.
type Config struct {
	// SchedulerNames are the profiles of our scheduler: pods with one of these names can be held without a gate.
	SchedulerNames []string
	// GatePrefixes are the beginnings of gate names that may be lifted.
	GatePrefixes []string
}

// Engine holds what the API server last said of PodSequences and pods. It is safe for concurrent use.
//
// The lock is held for the length of one event or question and never while calling out, so that the scheduler may ask
// under its queue lock.
type Engine struct {
	config         Config
	schedulerNames sets.Set[string]

	mu         sync.RWMutex
	sequences  map[types.NamespacedName]*sequence
	namespaces map[string]*namespace

	// Pods that were told to wait on a version of them that no event has brought yet. Guarded by its own lock, because
	// questions are asked under the read lock.
	strangersMu sync.Mutex
	strangers   map[types.UID]struct{}
}

// namespace has the pods of one namespace and the sequences that speak of them.
type namespace struct {
	pods map[string]*pod
	// selecting are the sequences that have a group by label, naming those that name a pod.
	selecting map[*sequence]struct{}
	naming    map[string]map[*sequence]struct{}
}

// NewEngine returns an engine that has been told of nothing.
func NewEngine(config Config) *Engine {
	return &Engine{
		config:         config,
		schedulerNames: sets.New(config.SchedulerNames...),
		sequences:      map[types.NamespacedName]*sequence{},
		namespaces:     map[string]*namespace{},
		strangers:      map[types.UID]struct{}{},
	}
}

// ApplyPod tells the engine of a pod that was added or changed. A version older than the one it has is ignored.
func (e *Engine) ApplyPod(object *corev1.Pod) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	b := batch{}
	e.applyPod(object, &b)
	return e.settle(&b)
}

// RemovePod tells the engine that a pod is gone. A pod of the same name but another UID is left alone.
func (e *Engine) RemovePod(object *corev1.Pod) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	b := batch{}
	e.removePod(object.Namespace, object.Name, object.UID, &b)
	return e.settle(&b)
}

// ReplacePods tells the engine of all pods there are. It is one step: in between, pods would look as they never were
// together, and a group might seem ready.
func (e *Engine) ReplacePods(objects []*corev1.Pod) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	b := batch{}
	present := make(map[types.UID]struct{}, len(objects))
	for _, object := range objects {
		present[object.UID] = struct{}{}
		e.applyPod(object, &b)
	}
	for name, ns := range e.namespaces {
		for _, p := range ns.pods {
			if _, ok := present[p.uid]; !ok {
				e.removePod(name, p.name, p.uid, &b)
			}
		}
	}
	return e.settle(&b)
}

// ApplySequence tells the engine of a PodSequence that was added or changed, and of what cannot be read of it.
func (e *Engine) ApplySequence(ps *v1alpha1.PodSequence, unreadable ...Unreadable) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	b := batch{}
	e.applySequence(Stored{ps, unreadable}, &b)
	return e.settle(&b)
}

// RemoveSequence tells the engine that a PodSequence is gone.
func (e *Engine) RemoveSequence(key types.NamespacedName) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	b := batch{}
	e.swap(e.sequences[key], nil, &b)
	return e.settle(&b)
}

// ReplaceSequences tells the engine of all PodSequences there are.
func (e *Engine) ReplaceSequences(objects []Stored) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	b := batch{}
	present := make(map[types.NamespacedName]struct{}, len(objects))
	for _, ps := range objects {
		present[types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name}] = struct{}{}
		e.applySequence(ps, &b)
	}
	for key, s := range e.sequences {
		if _, ok := present[key]; !ok {
			e.swap(s, nil, &b)
		}
	}
	return e.settle(&b)
}

// Everything is what the engine would have reported had it come to know all it knows in one step: every pod that may go,
// every pod that must wait, every sequence.
func (e *Engine) Everything() Changes {
	e.mu.RLock()
	defer e.mu.RUnlock()

	changes := Changes{}
	for key := range e.sequences {
		changes.touch(key)
	}
	for _, ns := range e.namespaces {
		for _, p := range ns.pods {
			changes.release(p, true)
			changes.hold(p)
		}
	}
	return changes
}
