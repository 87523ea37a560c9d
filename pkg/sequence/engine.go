package sequence

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
)

// Engine takes in what the API server says of PodSequences, pods, nodes and the workloads that make pods, event by event, and
// publishes what that changes. It is safe for concurrent use.
//
// Events come one at a time. A question waits, by mu, for the event that is under way. The scheduler does not ask: it
// reads what is published, see Verdict, and waits for nothing. No lock is held while calling out.
type Engine struct {
	mu sync.RWMutex
	*knowledge
}

// NewEngine returns an engine that knows nothing.
func NewEngine(config Config) *Engine { return &Engine{knowledge: newKnowledge(config)} }

// AddScheduler makes the engine act for the pods of one more scheduler. It is called before the engine is told of anything.
func (e *Engine) AddScheduler(name string) {
	e.settings.schedulerNames.Insert(name)
	e.settings.SchedulerNames = sets.List(e.settings.schedulerNames)
}

// settleAt enters an event of a version, and returns what that changed.
func (e *Engine) settleAt(version string, enter func(*transaction)) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()
	tx := &transaction{version: version}
	enter(tx)
	return e.settle(tx)
}

// ApplyPod tells the engine of a pod that was added or changed. A version older than the one it has is ignored.
func (e *Engine) ApplyPod(object *corev1.Pod) Changes {
	view := viewPod(object)
	e.mu.Lock()
	defer e.mu.Unlock()
	tx := &transaction{version: view.ResourceVersion}
	e.applyPod(view, tx)
	changes := e.settle(tx)
	e.unseen.advance(view.ResourceVersion)
	return changes
}

// RemovePod tells the engine that a pod is gone. A pod of the same name but another UID is left alone.
func (e *Engine) RemovePod(object *corev1.Pod) Changes {
	changes := e.settleAt(object.ResourceVersion, func(tx *transaction) { e.removePod(object.Namespace, object.Name, object.UID, tx) })
	e.unseen.advance(object.ResourceVersion)
	return changes
}

// ReplacePods tells the engine of all pods there are. It is one step: in between, pods would look as they never were
// together, and a group might seem ready. version is that of the list.
func (e *Engine) ReplacePods(objects []*corev1.Pod, version string) Changes {
	changes := e.settleAt(version, func(tx *transaction) { e.replacePods(objects, tx) })
	e.unseen.listed(version) // what it has is published
	return changes
}

// ApplySequence tells the engine of a PodSequence that was added or changed, and of what cannot be read of it.
func (e *Engine) ApplySequence(ps *v1alpha1.PodSequence, unreadable ...order.Unreadable) Changes {
	return e.ApplySequences([]order.Stored{{PodSequence: ps, Unreadable: unreadable}})
}

// ApplyClusterSequence tells the engine of a ClusterPodSequence that was added or changed, and of what cannot be read of it.
func (e *Engine) ApplyClusterSequence(cluster *v1alpha1.ClusterPodSequence, unreadable ...order.Unreadable) Changes {
	return e.ApplySequences([]order.Stored{order.OfCluster(cluster, unreadable...)})
}

// ApplySequences tells the engine of several PodSequences and ClusterPodSequences in one step.
func (e *Engine) ApplySequences(objects []order.Stored) Changes {
	version := ""
	for _, ps := range objects {
		version = inventory.Newest(version, ps.ResourceVersion)
	}
	return e.settleAt(version, func(tx *transaction) {
		for _, ps := range objects {
			e.applySequence(ps, tx)
		}
	})
}

// Recorded tells the engine of a sequence whose passes were recorded. One that the engine does not know is gone.
func (e *Engine) Recorded(stored order.Stored) Changes {
	return e.settleAt(stored.ResourceVersion, func(tx *transaction) {
		if s := e.sequences[types.NamespacedName{Namespace: stored.Namespace, Name: stored.Name}]; s != nil && s.UID == stored.UID {
			e.applySequence(stored, tx)
		}
	})
}

// RemoveSequence tells the engine that a PodSequence is gone since a version, or a ClusterPodSequence if the key has no namespace.
func (e *Engine) RemoveSequence(key types.NamespacedName, version string) Changes {
	return e.settleAt(version, func(tx *transaction) { e.replaceSequence(e.sequences[key], nil, tx) })
}

// ReplaceSequences tells the engine of all PodSequences that there are at a version. It does not touch ClusterPodSequences.
func (e *Engine) ReplaceSequences(objects []order.Stored, version string) Changes {
	return e.settleAt(version, func(tx *transaction) { e.replaceSequences(objects, false, tx) })
}

// ReplaceClusterSequences tells the engine of all ClusterPodSequences that there are at a version. It does not touch PodSequences.
func (e *Engine) ReplaceClusterSequences(objects []order.Stored, version string) Changes {
	return e.settleAt(version, func(tx *transaction) { e.replaceSequences(objects, true, tx) })
}

// ApplyWorkload tells the engine of a Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet or Job that
// was added or changed. A version older than the one it has is ignored, as is an object of another kind.
func (e *Engine) ApplyWorkload(object metav1.Object) Changes {
	view := viewWorkload(object)
	if view == nil {
		return Changes{}
	}
	return e.settleAt(view.ResourceVersion, func(tx *transaction) { e.applyWorkload(view, tx) })
}

// RemoveWorkload tells the engine that a workload is gone.
func (e *Engine) RemoveWorkload(object metav1.Object) Changes {
	return e.settleAt(object.GetResourceVersion(), func(tx *transaction) { e.removeWorkload(object.GetUID(), tx) })
}

// ReplaceWorkloads tells the engine of all workloads of one kind that there are at a version, in one step.
func (e *Engine) ReplaceWorkloads(kind inventory.Kind, objects []metav1.Object, version string) Changes {
	return e.settleAt(version, func(tx *transaction) { e.replaceWorkloads(kind, objects, tx) })
}

// ApplyNode tells the engine of a node that was added or changed. A version older than the one it has is ignored.
func (e *Engine) ApplyNode(object *corev1.Node) Changes {
	return e.settleAt(object.ResourceVersion, func(tx *transaction) { e.applyNode(object, tx) })
}

// RemoveNode tells the engine that a node is gone.
func (e *Engine) RemoveNode(name string) Changes {
	return e.settleAt("", func(tx *transaction) { e.removeNode(name, tx) })
}

// ReplaceNodes tells the engine of all nodes there are at a version, in one step.
func (e *Engine) ReplaceNodes(objects []*corev1.Node, version string) Changes {
	return e.settleAt(version, func(tx *transaction) { e.replaceNodes(objects, tx) })
}

// ApplyNamespace tells the engine of a namespace that was added or changed. A version older than the one it has is ignored.
func (e *Engine) ApplyNamespace(object *corev1.Namespace) Changes {
	return e.settleAt(object.ResourceVersion, func(tx *transaction) { e.applyNamespace(object, tx) })
}

// RemoveNamespace tells the engine that a namespace is gone.
func (e *Engine) RemoveNamespace(object *corev1.Namespace) Changes {
	return e.settleAt(object.ResourceVersion, func(tx *transaction) { e.removeNamespace(object.Name, tx) })
}

// ReplaceNamespaces tells the engine of all namespaces that there are at a version.
func (e *Engine) ReplaceNamespaces(objects []*corev1.Namespace, version string) Changes {
	return e.settleAt(version, func(tx *transaction) { e.replaceNamespaces(objects, tx) })
}

// Tick tells the engine what time it is: waits and time-outs that are over take effect. Times in the future, of which the
// API may tell when clocks differ, count as this time. It must not run backwards.
func (e *Engine) Tick(now time.Time) Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.now = latest(e.now, now)
	if next := e.nextWake(); next.IsZero() || e.now.Before(next) {
		return Changes{}
	}
	tx := &transaction{}
	for d := range e.alarms.Due(e.now) {
		tx.markDirty(d)
	}
	for at := range e.trials.Due(e.now) {
		tx.mark(at)
	}
	e.endOverrides(tx)
	e.tryRest(tx)
	return e.settle(tx)
}

// NextWake returns when Tick will next change something by itself; zero if nothing waits for time to pass.
func (e *Engine) NextWake() time.Time {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.nextWake()
}

// Everything returns what the engine would have reported had it come to know all it knows in one step: every pod that may be
// scheduled, every pod that must wait, every sequence.
func (e *Engine) Everything() Changes {
	e.mu.Lock()
	defer e.mu.Unlock()

	changes := Changes{}
	for key, s := range e.sequences {
		if changes.touch(key); s.nodeless.Ripe != 0 {
			changes.Ripe = append(changes.Ripe, key)
		}
	}
	for _, ns := range e.namespaces {
		for _, p := range ns.pods {
			e.report(&changes, p, verdict{held: true}, e.publish(p))
		}
	}
	return changes
}

// KindInstalled tells the engine whether the kind PodSequence is installed. Until it is told, the kind is.
func (e *Engine) KindInstalled(installed bool) Changes {
	return e.settleAt("", func(tx *transaction) {
		if e.published.existing.uninstalled.Swap(!installed) == installed {
			for name := range e.namespaces {
				for _, p := range e.namespaces.pods(name) {
					if !p.Bound() && (order.NamedSequence(&p.Labels) != "" || e.published.existing.requires(name)) {
						tx.dirtyPods = append(tx.dirtyPods, p)
					}
				}
			}
		}
	})
}

// Circle returns a circle through a sequence of scope Cluster. It is not a part of the report, because an event of any sequence of a circle
// may open or close it: messages name the others, too.
func (e *Engine) Circle(key types.NamespacedName) Circle {
	e.mu.RLock()
	defer e.mu.RUnlock()

	s := e.sequences[key]
	if s == nil || s.PerNode || s.refused() {
		return Circle{}
	}
	search := circleSearch{knowledge: e.knowledge, pods: mostPodsInCircles}
	for i := range s.nodeless.Current().All() {
		if steps := search.from(groupInSequence{s, i}); len(steps) > 0 {
			return circleOf(steps)
		}
	}
	return Circle{}
}

// Places returns the groups that sequences have for a pod, sorted by sequence. The pod may be one that does not exist, such as
// one of a pod template.
func (e *Engine) Places(object *corev1.Pod) []Place {
	e.mu.RLock()
	defer e.mu.RUnlock()

	p, _ := e.find(object)
	places := make([]Place, 0, len(p.memberships()))
	for _, m := range p.memberships() {
		alone := *p
		alone.setMemberships([]membership{m})
		places = append(places, Place{
			Sequence: m.sequence.Key, Group: m.group, Decision: e.decide(&alone),
			Governed: e.settings.governs(p, m.sequence),
		})
	}
	slices.SortFunc(places, func(a, b Place) int { return compareKeys(a.Sequence, b.Sequence) })
	return places
}

// groupOf returns a group of a sequence; nil if the engine knows no such group.
func (e *Engine) groupOf(key types.NamespacedName, group int) *group {
	if s := e.sequences[key]; s != nil && group >= 0 && group < len(s.groups) {
		return s.groups[group]
	}
	return nil
}

// Predecessors returns the 0-based indices of the groups that a group waits for: skipped ones are not among them. It is empty
// for a sequence or a group that the engine does not know.
func (e *Engine) Predecessors(key types.NamespacedName, group int) []int {
	e.mu.RLock()
	defer e.mu.RUnlock()

	if g := e.groupOf(key, group); g != nil {
		return slices.Collect(g.Awaited.All())
	}
	return nil
}

// Workloads returns the workloads of which a group expects pods, sorted. In scope Node the numbers are those of the whole cluster.
func (e *Engine) Workloads(key types.NamespacedName, group int) []WorkloadPart {
	e.mu.RLock()
	defer e.mu.RUnlock()

	g := e.groupOf(key, group)
	if g == nil {
		return nil
	}
	var parts []WorkloadPart
	for demand := range g.demands {
		w, sum := &demand.workload.Workload, demand.facts().Sum()
		if sum.Workloads == 0 {
			continue // another one speaks for its pods
		}
		part := WorkloadPart{
			Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Expected: sum.Need, Ready: sum.Ready,
			Short: sum.Short > 0, Unobserved: sum.Unobserved > 0,
		}
		if sum.Failed > 0 {
			part.Failure = w.Failure
		}
		parts = append(parts, part)
	}
	slices.SortFunc(parts, func(a, b WorkloadPart) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return parts
}

// Objects returns the objects that a group waits for, in the order of its spec, as its status records them.
func (e *Engine) Objects(key types.NamespacedName, group int) []Object {
	e.mu.RLock()
	defer e.mu.RUnlock()

	if g := e.groupOf(key, group); g != nil {
		return slices.Clone(g.objects)
	}
	return nil
}

// TargetNamespaces returns the namespaces whose pods a sequence holds, as far as they allow it; ok is false if the engine knows
// no such sequence.
func (e *Engine) TargetNamespaces(key types.NamespacedName) (namespaces []string, ok bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	s := e.sequences[key]
	switch {
	case s == nil:
		return nil, false
	case !s.Cluster:
		return []string{s.Namespace}, true
	}
	return slices.Collect(maps.Keys(s.groupsByNamespace)), true
}

// Report describes the sequence with this key, if there is one.
func (e *Engine) Report(key types.NamespacedName) (report.Report, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()

	s := e.sequences[key]
	if s == nil {
		return report.Report{}, false
	}
	return reporter{s}.report(), true
}

// Outdated says that a pod that is not ready is of an older revision, and that its StatefulSet does not replace it; empty if it is not so.
func (e *Engine) Outdated(object *corev1.Pod) string {
	e.mu.RLock()
	defer e.mu.RUnlock()

	if p, known := e.find(object); known {
		if set := e.workloads.outdatedBy(p); set != nil {
			return report.Outdated(&set.Workload)
		}
	}
	return ""
}

// Waiting are the unbound members of groups that must still wait.
func (e *Engine) Waiting(key types.NamespacedName) []types.NamespacedName {
	e.mu.RLock()
	defer e.mu.RUnlock()

	s := e.sequences[key]
	if s == nil {
		return nil
	}
	var waiting []types.NamespacedName
	d := s.nodeless
	for i := range s.groups {
		if !s.PerNode && d.Released.Has(i) {
			continue
		}
		for p := range d.peek(i).members {
			if !p.Bound() && !e.mayBeScheduled(p) {
				waiting = append(waiting, p.key())
			}
		}
	}
	return waiting
}

// Ripe returns what is to be recorded of a sequence; ok is false if nothing is.
func (e *Engine) Ripe(key types.NamespacedName) (ripe Ripe, ok bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return ripeOf(e.sequences[key])
}

// Agrees reports whether the passes may be recorded: the engine still comes to all of them, would look at no more than was looked at, and that
// is as it knows it. If not, the caller should ask for the Ripe again in a moment: there is more to look at, or an event is on its way.
func (e *Engine) Agrees(ripe Ripe, looked Looked) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()

	s := e.sequences[ripe.Key]
	now, _ := ripeOf(s) // who would look now may have to look at more
	if now.UID != ripe.UID || slices.ContainsFunc(now.PodNamespaces, func(name string) bool { return !slices.Contains(ripe.PodNamespaces, name) }) {
		return false
	}
	for hash := range ripe.Passes {
		if _, still := now.Passes[hash]; !still {
			return false
		}
	}
	return ripe.agreesOnWorkloads(s, looked.Workloads) && ripe.agreesOnPods(s, looked.Pods)
}

// Stray says that a pod names a PodSequence of its namespace of which no group selects it, and what these groups select; empty if it is not
// so.
func (e *Engine) Stray(object *corev1.Pod) string {
	e.mu.RLock()
	defer e.mu.RUnlock()

	p, _ := e.find(object)
	name := order.NamedSequence(&p.Labels)
	s := e.sequences[types.NamespacedName{Namespace: p.Namespace, Name: name}]
	if name == "" || s == nil || s.refused() || s.isUnreadable() || !p.isStray(name) {
		return ""
	}
	return report.StrayPods([]report.StrayPod{report.StrayPodOf(p.Pod)}, s.Sequence).Message
}

// Verdict answers for a pod as Decide does, without waiting for anybody. A pod that the engine does not know, or knows with
// other labels, is matched with the sequences of its namespace if they are few. If it must wait, or may have to, the engine
// remembers to report its release when it comes to know it.
func (e *Engine) Verdict(object *corev1.Pod) Verdict {
	if !e.published.reaches(object.Namespace) && !e.published.existing.concerns(object) && !e.published.holds(object) {
		return Verdict{}
	}
	seen, known := e.published.find(object)
	if !known {
		if memberships, released := e.published.matchUnseen(object, &e.settings); released {
			return Verdict{Ordered: isOrdered(memberships)}
		}
		e.ReportWhenSeen(object)
		// Once more: an event that brought the pod before the note does not know of the note.
		if seen, known = e.published.find(object); !known {
			return Verdict{Held: true}
		}
	}
	return Verdict{Held: seen.held.Load(), InVain: seen.inVain(), Ordered: isOrdered(seen.memberships())}
}

// Why says in words what a held pod waits for, as Decide does. It is empty if an event is under way: it does not wait to find out.
func (e *Engine) Why(object *corev1.Pod) string {
	if !e.mu.TryRLock() {
		return ""
	}
	defer e.mu.RUnlock()
	ns := e.namespaces[object.Namespace]
	if ns == nil || ns.pods[object.Name] == nil {
		return "" // to match it with all sequences may take long
	}
	return e.decide(ns.pods[object.Name]).Message()
}

// WaitsFor reports whether a sequence holds a pod, or may hold it again, because of the group of another pod. So it does the first
// pod no good to evict the second. It waits for an event under way if the pod may be held again at all.
func (e *Engine) WaitsFor(later, earlier *corev1.Pod) bool {
	if !e.MayBeHeldAgain(later) {
		return false
	}
	e.mu.RLock()
	defer e.mu.RUnlock()

	p, _ := e.find(later)
	if len(p.memberships()) == 0 {
		return false
	}
	awaited, _ := e.find(earlier)
	return slices.ContainsFunc(p.memberships(), func(m membership) bool {
		other, is := awaited.membershipIn(m.sequence)
		return is && m.holdFacts().IsRevocable() && m.sequence.groups[m.group].Awaited.Has(other.group) && e.nodes.applies(other, awaited.Node)
	})
}

// MayBeHeldAgain reports whether a group that the pod waits for may break, so that a sequence holds the pod again. It is true for a pod that
// the engine does not know, or knows on a node. It never waits.
func (e *Engine) MayBeHeldAgain(object *corev1.Pod) bool {
	seen, known := e.published.find(object)
	return !known || slices.ContainsFunc(seen.memberships(), func(m membership) bool { return m.holdFacts().IsRevocable() })
}

// HeldPods returns what is held now. It waits for no event.
func (e *Engine) HeldPods() HeldPods {
	var all HeldPods
	for _, published := range e.published.pods.Range {
		pod := published.(*publishedPod)
		if !pod.held.Load() || pod.Terminating {
			continue
		}
		all.Pods++
		if created := pod.CreatedAt.Time(); all.Oldest.IsZero() || created.Before(all.Oldest) {
			all.Oldest = created
		}
	}
	return all
}

// Lift says which gates of this pod, as the engine knows it, may be lifted now.
func (e *Engine) Lift(key types.NamespacedName) Lift {
	e.mu.RLock()
	defer e.mu.RUnlock()

	p := e.namespaces.pods(key.Namespace)[key.Name]
	if p == nil || p.Bound() || !e.mayBeScheduled(p) {
		return Lift{}
	}
	return Lift{UID: p.UID, Gates: e.settings.liftable(p.Pod, p.memberships())}
}

// Nomination returns the nomination that our scheduler has to clear, as far as the engine knows; the zero value if there is none: the
// pod need not wait, is bound or being deleted, is not nominated, or is not for our scheduler to place.
func (e *Engine) Nomination(key types.NamespacedName) Nomination {
	e.mu.RLock()
	defer e.mu.RUnlock()

	p := e.namespaces.pods(key.Namespace)[key.Name]
	if p == nil || !p.Nominated || p.Terminating || !e.settings.isOurs(p) {
		return Nomination{}
	}
	decision := e.decide(p)
	if !decision.Held {
		return Nomination{}
	}
	return Nomination{UID: p.UID, ResourceVersion: p.ResourceVersion, Recording: decision.Recording()}
}

// Placement returns nil if no sequence of node scope keeps the pod from any node. It waits for no event.
func (e *Engine) Placement(object *corev1.Pod) *Placement {
	if !e.published.reaches(object.Namespace) {
		return nil
	}
	seen, known := e.published.find(object)
	if !known || seen.kept == nil {
		return nil
	}
	return &Placement{engine: e, pod: object, needs: seen.needs(), Pin: seen.Pin()}
}

// closed says why a node is not open. What the group there lacks it says only if no event is under way.
func (e *Engine) closed(m membership, t standing, node string) report.Decision {
	d := m.closed(t, node)
	if d.Reason == report.HeldByGroup && e.mu.TryRLock() {
		defer e.mu.RUnlock()
		if n := e.nodes.byName[node]; n != nil {
			d.Group = m.group
			m.sequence.describeOn(&d, n, e.now)
		}
	}
	return d
}

// ReportWhenSeen makes the engine report the release of this pod once it knows the pod: the caller holds it.
func (e *Engine) ReportWhenSeen(object *corev1.Pod) { e.unseen.add(object.UID, object.ResourceVersion) }

// Decide answers for a pod that the caller has. The caller may have it earlier than the engine, or in a newer version: then its memberships are
// worked out from the pod itself, and if it must wait, the engine remembers to report its release when it comes to know it.
func (e *Engine) Decide(object *corev1.Pod) report.Decision {
	e.mu.RLock()
	defer e.mu.RUnlock()

	p, known := e.find(object)
	d := e.decide(p)
	if d.Held && !known {
		e.ReportWhenSeen(object)
	}
	return d
}

// WouldHold says what would hold pods that are about to be created together, such as those of a workload in a queue, or one of a pod
// template. They have no names: no group names them. They are held until each of them is released. A group to which some of them belong
// does not hold the others: it cannot become ready before they are created. Sequences of scope Node are left out: whether they hold a
// pod is a question of nodes.
func (e *Engine) WouldHold(objects ...*corev1.Pod) Hold {
	e.mu.RLock()
	defer e.mu.RUnlock()

	pods, own := make([]planned, 0, len(objects)), map[*sequence]order.GroupSet{}
	for _, object := range objects {
		p := newPlanned(e.knowledge, object)
		if p.missing != order.NothingMissing {
			return p.missingHold()
		}
		for _, m := range p.memberships() {
			groups := own[m.sequence]
			groups.Add(m.group)
			own[m.sequence] = groups
		}
		pods = append(pods, p)
	}
	var holding *sequence
	var waits order.GroupSet
	for _, p := range pods {
		for _, m := range p.memberships() {
			groups, held := p.awaits(m, own[m.sequence])
			if held && (holding == nil || less(m.sequence.Key, holding.Key)) {
				holding, waits = m.sequence, groups
			}
		}
	}
	if holding == nil {
		return Hold{}
	}
	h := Hold{Sequence: holding.Key, Groups: slices.Collect(waits.All()), Paused: holding.pausedIn(waits)}
	if waits != 0 {
		h.Group = holding.where(waits.First()).String()
	}
	return h
}
