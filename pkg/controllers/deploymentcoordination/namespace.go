package deploymentcoordination

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// namespace is what is remembered of a namespace that has coordinations, or Deployments that one paused. To lose it costs
// some work. It belongs to the reconcile of that namespace, but for what namespaces guards.
type namespace struct {
	// changed says that something has happened since the last turn began. namespaces guards it.
	changed bool
	// large says that it takes more than one turn to look at everything. namespaces guards it.
	large bool
	// mayWrite are the coordinations whose status waited and may be written now. namespaces guards it.
	mayWrite sets.Set[string]

	// everything says that all coordinations are to be looked at; todo are those that still are.
	// granted are the names of those whose status may be written now.
	everything bool
	granted    sets.Set[string]
	todo       sets.Set[types.UID]
	// last is the name of the coordination that was looked at last: the next turn goes on after it.
	last string
	// again is when each coordination is to be looked at even if nothing happens.
	again map[types.UID]time.Time
	// failures counts in a row, by coordination, those that were not changes that came in between.
	failures map[types.UID]int
	// compared says that the cache has had the coordinations as the API server has them.
	compared bool

	// seen are the names of coordinations that there are, going is since when one is being deleted, and ended since when one is gone.
	seen         sets.Set[string]
	going, ended map[string]time.Time

	written   written
	plan      *plan
	templates map[types.UID]knownTemplate
	// remembered are the states of Deployments that no status has, or not as they are.
	remembered records
	// refusals are of Deployments whose last write was refused.
	refusals map[types.UID]*refusal
	// readiness is of active Deployments that have rolled out.
	readiness map[types.UID]knownReadiness
}

// namespaces are those of which something is remembered.
type namespaces struct {
	lock  sync.Mutex
	known map[string]*namespace
}

func newNamespaces() *namespaces { return &namespaces{known: map[string]*namespace{}} }

// enter returns what is remembered of a namespace whose turn begins. From now on its changes are of interest.
func (n *namespaces) enter(name string) *namespace {
	n.lock.Lock()
	defer n.lock.Unlock()
	one, ok := n.known[name]
	if !ok {
		one = &namespace{
			changed: true, mayWrite: sets.New[string](), granted: sets.New[string](), todo: sets.New[types.UID](), again: map[types.UID]time.Time{}, failures: map[types.UID]int{},
			seen: sets.New[string](), going: map[string]time.Time{}, ended: map[string]time.Time{}, written: written{}, templates: map[types.UID]knownTemplate{}, remembered: records{},
			readiness: map[types.UID]knownReadiness{}, refusals: map[types.UID]*refusal{},
		}
		n.known[name] = one
	}
	if one.changed {
		one.changed, one.everything = false, true
	}
	one.granted, one.mayWrite = one.granted.Union(one.mayWrite), sets.New[string]()
	return one
}

// mayWrite notes that the status of a coordination may be written now. It reports whether its namespace is of interest.
func (n *namespaces) mayWrite(coordination types.NamespacedName) bool {
	n.lock.Lock()
	defer n.lock.Unlock()
	one, ok := n.known[coordination.Namespace]
	if ok {
		one.mayWrite.Insert(coordination.Name)
	}
	return ok
}

// note notes a change of a namespace. It reports whether it is of interest, and how long it may wait for more to happen:
// always is not limited to namespaces that are known.
func (n *namespaces) note(name string, always bool) (interest bool, wait time.Duration) {
	n.lock.Lock()
	defer n.lock.Unlock()
	one, ok := n.known[name]
	if !ok {
		return always, 0
	}
	one.changed = true
	if one.large {
		wait = largePause
	}
	return true, wait
}

// measure notes whether it takes more than one turn to look at everything.
func (n *namespaces) measure(one *namespace) {
	n.lock.Lock()
	defer n.lock.Unlock()
	one.large = one.plan.pairs() > turnPairs
}

// leave forgets a namespace.
func (n *namespaces) leave(name string) {
	n.lock.Lock()
	defer n.lock.Unlock()
	delete(n.known, name)
}

// keep forgets the objects that do not exist any more.
func (n *namespace) keep(around surroundings) {
	exists := sets.New[types.UID]()
	for i := range around.coordinations {
		exists.Insert(around.coordinations[i].UID)
	}
	for i := range around.deployments {
		exists.Insert(around.deployments[i].UID)
	}
	keepOnly(n.written, exists)
	keepOnly(n.again, exists)
	keepOnly(n.failures, exists)
	keepOnly(n.templates, exists)
	keepOnly(n.remembered, exists)
	keepOnly(n.readiness, exists)
	keepOnly(n.refusals, exists)
	n.todo = n.todo.Intersection(exists)
}

func keepOnly[V any](of map[types.UID]V, exists sets.Set[types.UID]) {
	for uid := range of {
		if !exists.Has(uid) {
			delete(of, uid)
		}
	}
}

// noteEnded notes which coordinations are gone that were seen before. One that is being deleted is gone after mostGoing at the latest.
func (n *namespace) noteEnded(around surroundings, now time.Time) {
	exist := sets.New[string]()
	for i := range around.coordinations {
		name := around.coordinations[i].Name
		exist.Insert(name)
		if around.coordinations[i].DeletionTimestamp == nil {
			delete(n.going, name)
			delete(n.ended, name)
			continue
		}
		if _, known := n.going[name]; !known {
			n.going[name] = now
		}
		n.ended[name] = now
		if last := n.going[name].Add(mostGoing); now.After(last) {
			n.ended[name] = last
		}
	}
	for name := range n.seen.Difference(exist) {
		if _, known := n.ended[name]; !known {
			n.ended[name] = now
		}
		delete(n.going, name)
	}
	n.seen = exist
	for name, since := range n.ended {
		if !exist.Has(name) && !now.Before(since.Add(handOver)) {
			delete(n.ended, name)
		}
	}
}

// collectDue adds the coordinations that are due now to todo.
func (n *namespace) collectDue(around surroundings, now time.Time) {
	for i := range around.coordinations {
		uid := around.coordinations[i].UID
		if at, ok := n.again[uid]; n.everything || n.granted.Has(around.coordinations[i].Name) || (ok && !now.Before(at)) {
			n.todo.Insert(uid)
		}
	}
	n.everything, n.granted = false, sets.New[string]()
}

// next is when to come back if nothing happens; zero for never.
func (n *namespace) next() time.Time {
	var next time.Time
	for _, at := range n.again {
		next = sooner(next, at)
	}
	return next
}

const (
	// firstRetry is how long after its first failure a coordination is looked at again. Each that follows doubles it.
	firstRetry = 100 * time.Millisecond
	// lastRetry is the longest that it becomes.
	lastRetry = 30 * time.Second
)

// scheduleRetry schedules another look at a coordination, after a back-off.
func (n *namespace) scheduleRetry(uid types.UID, now time.Time) {
	n.again[uid] = now.Add(backOff(n.failures[uid]))
	n.failures[uid]++
}

// lags reports whether some object is not yet in the cache as we wrote it.
func (n *namespace) lags(around surroundings) bool {
	if len(n.written) == 0 {
		return false
	}
	for i := range around.coordinations {
		if n.written.lags(&around.coordinations[i]) {
			return true
		}
	}
	for i := range around.deployments {
		if n.written.lags(&around.deployments[i]) {
			return true
		}
	}
	return false
}

// template returns what a member's template comes to. That is worked out once for each version of the Deployment and its
// ReplicaSets.
func (n *namespace) template(m *Member) *template {
	uid, versions := m.Deployment.UID, versionsOf(m.ReplicaSets)
	known, ok := n.templates[uid]
	if !ok || known.deployment != m.Deployment.ResourceVersion || known.replicaSets != versions {
		known = knownTemplate{m.Deployment.ResourceVersion, versions, m.template()}
		n.templates[uid] = known
	}
	return known.template
}

// backOff is how long to wait after so many failures before that one.
func backOff(failures int) time.Duration { return min(firstRetry<<min(failures, 20), lastRetry) }
