package sequence

import (
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/podgroups"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/spec"
)

// Config is what the operator of the cluster decides.
type Config struct {
	// SchedulerNames are the profiles of our scheduler: pods with one of these names can be held without a gate.
	SchedulerNames []string
	// GatePrefixes are the beginnings of gate names that may be lifted.
	GatePrefixes []string
	// ClusterScopeOnly reports that the engine does not see nodes: sequences of node scope are reported and release nothing.
	ClusterScopeOnly bool
}

// Engine holds what the API server last said of PodSequences, pods, nodes and the workloads that make pods. It is safe for
// concurrent use.
//
// Events come one at a time, by enter. The scheduler reads what is published, see Verdict, and waits for none of them. No lock
// is held while calling out.
type Engine struct {
	config         Config
	schedulerNames sets.Set[string]

	enter sync.Mutex // held by whoever changes anything
	mu    sync.RWMutex

	now        time.Time     // of the last Tick
	newest     string        // the newest version of anything seen
	moment     atomic.Uint64 // see Moment
	split      bool          // see VersionsIncomparable
	alarms     progress.Alarms[*domain]
	sequences  map[types.NamespacedName]*sequence
	namespaces map[string]*namespace
	consents   consents
	workloads  workloads

	nodes   map[string]*node
	slots   []*node                        // the nodes, each at a place of its own while it is there
	hosts   map[string]map[string]struct{} // names of nodes by host name
	perNode map[*sequence]struct{}         // sequences of scope Node
	// selectors are the sequences with groups that select namespaces by label.
	selectors map[*sequence]struct{}
	daemons   map[*workload]struct{} // DaemonSets that they select

	requirements requirements
	pinned       map[inventory.Pin]map[*pod]struct{}
	podGroups    map[podgroups.Reference]*podGroup
	unconfirmed  map[string]*unconfirmed // by namespace

	published published
	settled   uint64 // counts the transactions that were settled
	unseen    unseenPods
	shared    inventory.Shared
}

// NewEngine returns an engine that knows nothing.
func NewEngine(config Config) *Engine {
	return &Engine{
		config:         config,
		schedulerNames: sets.New(config.SchedulerNames...),
		sequences:      map[types.NamespacedName]*sequence{},
		namespaces:     map[string]*namespace{},
		consents:       newConsents(),
		workloads:      newWorkloads(),
		nodes:          map[string]*node{},
		hosts:          map[string]map[string]struct{}{},
		perNode:        map[*sequence]struct{}{},
		selectors:      map[*sequence]struct{}{},
		daemons:        map[*workload]struct{}{},
		requirements:   requirements{byKey: map[string]*requirement{}, classes: map[string]*equivalenceClass{}},
		pinned:         map[inventory.Pin]map[*pod]struct{}{},
		podGroups:      map[podgroups.Reference]*podGroup{},
		unconfirmed:    map[string]*unconfirmed{},
		unseen:         unseenPods{versions: map[types.UID]string{}},
	}
}

// ApplyPod tells the engine of a pod that was added or changed. A version older than the one it has is ignored.
func (e *Engine) ApplyPod(object *corev1.Pod) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()

	view := viewPod(object)
	prepared := e.prepareClass(view)
	e.mu.Lock()
	defer e.mu.Unlock()
	tx := e.at(view.ResourceVersion)
	e.applyPod(view, prepared, tx)
	return e.settle(tx)
}

// RemovePod tells the engine that a pod is gone. A pod of the same name but another UID is left alone.
func (e *Engine) RemovePod(object *corev1.Pod) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	tx := e.at(object.ResourceVersion)
	e.removePod(object.Namespace, object.Name, object.UID, tx)
	return e.settle(tx)
}

// ReplacePods tells the engine of all pods there are. It is one step: in between, pods would look as they never were
// together, and a group might seem ready. version is that of the list.
func (e *Engine) ReplacePods(objects []*corev1.Pod, version string) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	tx := e.relistedAt(version)
	present := make(map[types.UID]struct{}, len(objects))
	for _, object := range objects {
		present[object.UID] = struct{}{}
		e.applyPod(viewPod(object), nil, tx)
	}
	for name, ns := range e.namespaces {
		for _, p := range ns.pods {
			if _, ok := present[p.UID]; !ok {
				e.removePod(name, p.Name, p.UID, tx)
			}
		}
	}
	changes := e.settle(tx)
	e.unseen.listed(version) // what it has is published
	return changes
}

// ApplySequence tells the engine of a PodSequence that was added or changed, and of what cannot be read of it.
func (e *Engine) ApplySequence(ps *v1alpha1.PodSequence, unreadable ...spec.Unreadable) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	tx := e.at(ps.ResourceVersion)
	e.applySequence(spec.Stored{PodSequence: ps, Unreadable: unreadable}, tx)
	return e.settle(tx)
}

// ApplyClusterSequence tells the engine of a ClusterPodSequence that was added or changed, and of what cannot be read of it.
func (e *Engine) ApplyClusterSequence(cluster *v1alpha1.ClusterPodSequence, unreadable ...spec.Unreadable) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	tx := e.at(cluster.ResourceVersion)
	e.applySequence(spec.OfCluster(cluster, unreadable...), tx)
	return e.settle(tx)
}

// RemoveSequence tells the engine that a PodSequence is gone since a version, or a ClusterPodSequence if the key has no namespace.
func (e *Engine) RemoveSequence(key types.NamespacedName, version string) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	tx := e.at(version)
	e.swap(e.sequences[key], nil, tx)
	return e.settle(tx)
}

// ReplaceSequences tells the engine of all PodSequences that there are at a version. It does not touch ClusterPodSequences.
func (e *Engine) ReplaceSequences(objects []spec.Stored, version string) Changes {
	return e.replaceSequences(objects, version, false)
}

// ReplaceClusterSequences tells the engine of all ClusterPodSequences that there are at a version. It does not touch PodSequences.
func (e *Engine) ReplaceClusterSequences(objects []spec.Stored, version string) Changes {
	return e.replaceSequences(objects, version, true)
}

func (e *Engine) replaceSequences(objects []spec.Stored, version string, cluster bool) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	tx := e.relistedAt(version)
	present := make(map[types.NamespacedName]struct{}, len(objects))
	for _, ps := range objects {
		present[types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name}] = struct{}{}
		e.applySequence(ps, tx)
	}
	for key, s := range e.sequences {
		if _, ok := present[key]; !ok && s.Cluster == cluster {
			e.swap(s, nil, tx)
		}
	}
	return e.settle(tx)
}

// Tick tells the engine what time it is: waits and time-outs that are over take effect. Times in the future, of which the
// API may tell when clocks differ, count as this time. It must not run backwards.
func (e *Engine) Tick(now time.Time) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	e.now = latest(e.now, now)
	tx := transaction{}
	for d := range e.alarms.Due(e.now) {
		tx.touch(d)
	}
	return e.settle(&tx)
}

// NextWake is when Tick will next change something by itself; zero if nothing waits for time to pass.
func (e *Engine) NextWake() time.Time {
	e.enter.Lock()
	defer e.enter.Unlock()
	return e.alarms.Next()
}

// Everything is what the engine would have reported had it come to know all it knows in one step: every pod that may be scheduled,
// every pod that must wait, every sequence.
func (e *Engine) Everything() Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	changes := Changes{}
	for key := range e.sequences {
		changes.touch(key)
	}
	for _, ns := range e.namespaces {
		for _, p := range ns.pods {
			e.report(&changes, p, verdict{held: true}, e.publish(p))
		}
	}
	return changes
}
