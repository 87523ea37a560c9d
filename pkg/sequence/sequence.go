package sequence

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
)

// sequence is a PodSequence or a ClusterPodSequence, and how far it has come.
type sequence struct {
	*order.Sequence
	groups []*group

	// created is when it began to count: when it was created, or, if that was later, when its target namespace allowed it.
	created   time.Time
	allowedAt time.Time // when the target namespace came to allow it, as far as anybody saw; zero if it always did
	// refusal says why the target namespace does not let the sequence hold its pods; empty if it does.
	refusal string
	// object is what the API server last said: read only.
	object *v1alpha1.PodSequence
	// cluster is the same as a ClusterPodSequence; nil for a PodSequence.
	cluster *v1alpha1.ClusterPodSequence
	// unreadable is what cannot be read of it.
	unreadable []order.Unreadable
	// overrideEnd is when its annotations end to count.
	overrideEnd progress.Alarm[*sequence]

	// domains are where groups are passed in order: the one domain with the empty name for scope Cluster; for scope Node one for
	// each node where something of the sequence is or is due, and the one with the empty name for members that are not bound yet.
	domains map[string]*domain
	// nodeless is the domain with the empty name; nil until the sequence is registered.
	nodeless *domain
	// groupsByNamespace maps the namespaces where some of the groups may have members to those groups.
	groupsByNamespace map[string]order.GroupSet
	// domainsMu guards which domains there are and what they published against those who read without the engine's lock. It is the
	// innermost lock, and held for a look at one domain, or at all of them when OpenNodes are looked at anew.
	domainsMu sync.RWMutex
	// knowledge provides the nodes and the time. It is nil until the sequence is registered.
	knowledge *knowledge
	// resumedSeen is when a suspension was lifted, as the engine saw it; zero if it saw none.
	resumedSeen time.Time
	// suspendedSeen reports that the engine saw its suspension begin, and so knows better than status what had been released.
	suspendedSeen bool
	// opens counts what may have changed to which of its groups some node is open, see Placement.Open.
	opens atomic.Uint64
	// untried are the groups of which pods were not tried when a node opened to them, and retry is when they are: see tryOn.
	untried order.GroupSet
	retry   progress.Alarm[*sequence]
	// firstReleased reports that the first group had been released, so that being suspended does not hold it.
	firstReleased bool
	// registered reports whether the engine still goes by this sequence.
	registered bool

	// changedAs is the version of the event with which its groups, or the namespaces where they have members, became what they are.
	changedAs string
	// sinceVersion is the version of the event with which the sequence began to count, in its scope; empty if unknown.
	sinceVersion string
	failures     failures

	// dry is what it would have held; nil but for a dry run.
	dry *dryRun

	// outOfOrder are the members that started before the sequence existed.
	outOfOrder outOfOrder

	// nodeRecords are what status says of nodes that wait.
	nodeRecords map[string]*v1alpha1.NodeStatus
}

// markGroupsIn marks for re-evaluation the groups that have members in a namespace from now on, or have none there any more.
func (s *sequence) markGroupsIn(before, after order.GroupSet, tx *transaction) {
	for _, d := range s.domains {
		for _, state := range d.groupStates {
			if before.Has(state.group) != after.Has(state.group) {
				state.dirty = true
				tx.markDirty(d)
			}
		}
	}
}

// stored returns the object of the sequence.
func (s *sequence) stored() order.Stored {
	return order.Stored{PodSequence: s.object, Cluster: s.cluster, Unreadable: s.unreadable}
}

// restoreFromStatus takes from status what cannot be seen in the world any more.
func (s *sequence) restoreFromStatus() {
	if s.PerNode {
		s.nodeRecords = map[string]*v1alpha1.NodeStatus{}
		for i := range s.object.Status.NodeStatus {
			node := &s.object.Status.NodeStatus[i]
			s.nodeRecords[node.NodeName] = node
			if !s.refused() && s.knowledge.nodes.byName[node.NodeName] != nil {
				s.domainAt(node.NodeName).restoreFromRecord(node)
			}
		}
		if s.record(0).ReleasedAt != nil {
			s.firstReleased = true
		}
		return
	}
	d := s.nodeless
	for i := range s.groups {
		record := s.record(i)
		s.groups[i].failuresOverAt = latest(s.groups[i].failuresOverAt, timeOf(s.Memory(&s.object.Status, i).FailuresOverAt))
		if record.ReleasedAt != nil && s.Suspended && !s.suspendedSeen {
			d.ReleasedBefore |= s.groups[i].Predecessors
			d.ReleasedBefore.Add(i)
		}
		if lost := timeOf(s.Memory(&s.object.Status, i).LostAt); !s.refused() && d.LostAt(i).IsZero() { // else this program knows better
			switch {
			case s.Continuous && !lost.IsZero():
				if !d.Once.Has(i) {
					d.Lose(i, lost)
				}
			case record.FirstSatisfiedAt != nil:
				d.Once.Add(i)
			}
		}
		if s.Completed(&s.object.Status, i) && !s.refused() && !d.Reopened.Has(i) {
			d.Completed.Add(i)
		}
	}
}

// inheritProgress takes over what an earlier spec of the same object came to.
func (s *sequence) inheritProgress(old *sequence, k *knowledge) {
	if s.UID != old.UID || s.PerNode != old.PerNode {
		return
	}
	if old.firstReleased || !old.Suspended {
		s.firstReleased = true
	}
	s.suspendedSeen = s.Suspended && (old.suspendedSeen || !old.Suspended)
	s.failures.gone, s.failures.ended = old.failures.gone, old.failures.ended
	now, same := k.now.Truncate(time.Second), s.SameGroups(old.Sequence)
	for i, g := range s.groups {
		if same[i] < 0 {
			g.editedAt = now
			continue
		}
		before := old.groups[same[i]]
		g.watchedSince, g.editedAt = before.watchedSince, before.editedAt
		g.failuresOverAt = latest(g.failuresOverAt, before.failuresOverAt)
		if g.Awaited != same.Set(before.Awaited) {
			g.editedAt = now // what it waits for is skipped, or is not any more
		}
	}
	if s.resumedSeen = old.resumedSeen; old.Suspended && !s.Suspended {
		s.resumedSeen = now
	}
	for name, before := range old.domains {
		if d := s.domains[name]; d != nil {
			d.inheritProgress(before, same)
		}
	}
}

// noteChangesSinceStatus is for an engine that sees the sequence for the first time. What status does not say as it is now was changed
// since status was written. The time is not recorded: so no time-out counts from before now.
func (s *sequence) noteChangesSinceStatus(now time.Time) {
	now = now.Truncate(time.Second)
	suspended := meta.FindStatusCondition(s.object.Status.Conditions, v1alpha1.ConditionSuspended)
	if suspended == nil {
		return // it was never written
	}
	// Of two edits or more, one may have suspended the sequence and another resumed it.
	unseen := s.Generation - s.object.Status.ObservedGeneration
	if !s.Suspended && (suspended.Status == metav1.ConditionTrue || unseen > 1) {
		s.resumedSeen = now
	}
	changed := order.GroupSet(0) // groups that are skipped now and were not, or the other way round
	for i, g := range s.groups {
		record := s.record(i)
		if record.Hash == "" || g.Predecessors&changed != 0 {
			g.editedAt = now
		}
		if record.Hash != "" && (record.Phase == v1alpha1.GroupSkipped) != g.Skip {
			changed.Add(i)
		}
	}
}

// newSequence returns a sequence that has not come anywhere yet.
func newSequence(compiled *order.Sequence, stored order.Stored) *sequence {
	s := &sequence{
		Sequence: compiled, groups: make([]*group, len(compiled.Groups)), object: stored.PodSequence, cluster: stored.Cluster,
		unreadable: stored.Unreadable, created: stored.CreationTimestamp.Time,
		domains: map[string]*domain{}, groupsByNamespace: map[string]order.GroupSet{},
	}
	s.failures, s.outOfOrder.of = failures{of: s, ended: sets.Set[types.UID]{}}, s
	places, onlyPlaces := make([]membership, len(s.groups)), make([][]membership, len(s.groups))
	for i, g := range compiled.Groups {
		places[i], onlyPlaces[i] = membership{s, i}, places[i:i+1:i+1]
		s.groups[i] = &group{Group: g, demands: map[*demand]struct{}{}, onlyPlace: &onlyPlaces[i]}
	}
	return s
}

// describeOn says what a node waits for.
func (s *sequence) describeOn(decision *report.Decision, n *node, now time.Time) {
	decision.NodeNotReady = !n.NotReady.IsZero()
	decision.NodeTrouble = report.NodeTrouble(&n.Node)
	if d := s.domains[n.Name]; d != nil { // else the sequence was replaced since the caller found the node closed
		d.describe(decision, now)
	}
}

// isOpen reports whether a node is open to pods of the group.
func (s *sequence) isOpen(name string, group int) bool {
	d := s.domains[name]
	return d != nil && d.standing().isOpen(group)
}

// releasedAtFirst returns the groups that had been released as soon as there was the sequence, so that a suspension does not hold them.
func (s *sequence) releasedAtFirst() order.GroupSet {
	if s.firstReleased {
		return order.Before(1)
	}
	return 0
}

// domainAt is the domain of a node, or of what is not bound or of scope Cluster. It is made if there is none yet.
func (s *sequence) domainAt(name string) *domain {
	if d := s.domains[name]; d != nil {
		return d
	}
	d := &domain{sequence: s, name: name, node: s.knowledge.nodes.byName[name]}
	d.alarm.Owner = d
	for i, g := range s.groups {
		if !s.PerNode || (g.OnEveryNode && d.isNode()) {
			d.groupState(i)
		}
	}
	s.domainsMu.Lock()
	defer s.domainsMu.Unlock()
	if s.domains[name] = d; !d.isNode() {
		s.nodeless = d
	}
	return d
}

// domainOf is the domain in which the pod counts.
func (s *sequence) domainOf(p *pod) *domain {
	if s.PerNode && p.Bound() {
		return s.domainAt(p.Node)
	}
	return s.nodeless
}

// markObjects marks for re-evaluation the groups of whose objects something else is recorded than was. If they are satisfied before and
// after, the new times show whether they were not meanwhile.
func (s *sequence) markObjects(changed order.GroupSet, tx *transaction) {
	if changed == 0 {
		return
	}
	for _, d := range s.domains {
		for i := range changed.All() {
			if state := d.find(i); state != nil {
				state.dirty, state.turned = true, latest(state.turned, s.groups[i].objects.Since())
			}
		}
		tx.markDirty(d)
	}
}

// beginDryRun begins a dry run, or goes on with that of the sequence before it was edited, or that status speaks of.
func (s *sequence) beginDryRun(old *sequence) {
	switch status := &s.object.Status; {
	case !s.DryRunRequested:
	case old != nil && old.UID == s.UID && old.dry != nil:
		s.dry = old.dry
	case status.DryRun != nil && meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionDryRun):
		said := status.DryRun
		s.dry = &dryRun{total: int(said.HeldTotal - said.HeldNow), longest: time.Duration(said.LongestSeconds) * time.Second}
	default:
		s.dry = &dryRun{}
	}
}

// readObjects takes from status what is recorded of the objects that groups wait for. It returns the groups of which something else is
// recorded than was, and not only in other words, which an object may have each second: only the report of the sequence has these. old is the sequence itself, or what it takes the place of; nil if there is none.
//
// An object that is Satisfied without a time is so since the engine first saw that.
func (s *sequence) readObjects(old *sequence, now time.Time) (changed order.GroupSet) {
	if !slices.ContainsFunc(s.groups, func(g *group) bool { return len(g.Objects) > 0 }) {
		return 0
	}
	before := map[v1alpha1.ObjectReference]readiness.Object{}
	if old != nil && old.UID == s.UID {
		for _, g := range old.groups {
			for _, object := range g.objects {
				before[object.ObjectReference] = object
			}
		}
	}
	records := order.ObjectRecords(&s.object.Status)
	for i, g := range s.groups {
		g.objects = make(readiness.Objects, len(g.Objects))
		for j, reference := range g.Objects {
			was := before[reference]
			g.objects[j] = readObject(reference, records[reference], was, now)
			was.Message = g.objects[j].Message
			if g.objects[j] != was {
				changed.Add(i)
			}
		}
	}
	return changed
}

// readObject returns what a record, which may be nil, says of an object. before is what was known of it.
func readObject(reference v1alpha1.ObjectReference, record *v1alpha1.ObjectStatus, before readiness.Object, now time.Time) readiness.Object {
	object := readiness.Object{ObjectReference: reference}
	if record == nil {
		return object
	}
	object.State, object.UID, object.Message = record.State, record.UID, record.Message
	switch {
	case object.State != v1alpha1.ObjectSatisfied:
	case record.Since != nil:
		object.Since = record.Since.UTC()
	case before.State == v1alpha1.ObjectSatisfied && before.UID == object.UID:
		object.Since = before.Since
	default:
		object.Since = now.Truncate(time.Second)
	}
	return object
}

// unreadableObjects reports the objects that podsequence-controller cannot read, and that a group waits for which is not passed.
func (s *sequence) unreadableObjects() (problem order.Problem, ok bool) {
	group, unreadable := 0, readiness.Objects(nil)
	for i, g := range s.groups {
		if g.Skip || (!s.PerNode && s.nodeless.Passed.Has(i)) {
			continue
		}
		for _, object := range g.objects {
			if object.State != v1alpha1.ObjectNotReadable {
				continue
			}
			if len(unreadable) == 0 {
				group = i
			}
			unreadable = append(unreadable, object)
		}
	}
	if len(unreadable) == 0 {
		return order.Problem{}, false
	}
	return report.UnreadableObjects(s.where(group), unreadable[0], len(unreadable)-1), true
}

// canCheckOrder reports whether the sequence holds pods, so that it matters when they started.
func (s *sequence) canCheckOrder() bool { return !s.DryRunRequested && !s.refused() }

// splitPodGroups reports the PodGroups that have pods in several groups, as these pods say themselves. The scheduler of Kubernetes places
// all pods of a PodGroup together, and Coscheduling as many as the PodGroup asks for, which is not looked at. The pods of later groups are
// held until the earlier groups are ready, so none of them would start.
func (s *sequence) splitPodGroups() (order.Problem, bool) {
	groups := map[podgroups.Reference]order.GroupSet{}
	for _, d := range s.domains {
		for _, state := range d.groupStates {
			for p := range state.members {
				for _, reference := range p.PodGroups() {
					in := groups[reference]
					in.Add(state.group)
					groups[reference] = in
				}
			}
		}
	}
	var split []string
	for reference, in := range groups {
		if len(slices.Collect(in.All())) > 1 {
			split = append(split, "PodGroup "+reference.Name)
		}
	}
	return report.SplitPodGroups(split), len(split) > 0
}

// publishedOn is how far the sequence is on a node, as of the last event.
func (s *sequence) publishedOn(name string) publishedDomain {
	s.domainsMu.RLock()
	defer s.domainsMu.RUnlock()
	if d := s.domains[name]; d != nil {
		return d.published
	}
	return publishedDomain{} // the node is not known
}

// differsOn returns the first group that pods of this one wait for and that is for a node as its labels are here, and is not as they are
// known, or the other way round; the first of all if this is another node than the known one of that name.
func (s *sequence) differsOn(object *corev1.Node, group int) (differs int, any bool) {
	known := s.publishedOn(object.Name).node
	if known == nil {
		return 0, false // nothing is open there
	}
	for i := range s.groups[group].Awaited.All() {
		g := s.groups[i]
		if object.UID != known.Object.UID || g.AppliesTo(object.Labels) != g.AppliesTo(known.Object.Labels) {
			return i, true
		}
	}
	return 0, false
}

// starvedByQuota reports a group under way whose workload a ResourceQuota refuses pods, while pods of later groups use that quota up: pods
// count in a quota when they are created, and those that are held keep what they count. So the groups wait for each other. Deployments,
// ReplicaSets and ReplicationControllers say that pods were refused, and other workloads do not.
func (s *sequence) starvedByQuota() (order.Problem, bool) {
	d := s.nodeless
	for i := range d.Current().All() {
		if d.looksSatisfied(i) {
			continue
		}
		var starved []*inventory.Workload
		for demand := range s.groups[i].demands {
			if w := &demand.workload.Workload; w.QuotaExceeded != "" && demand.entered.Short > 0 && d.heldFor(i, w.Namespace) > 0 {
				starved = append(starved, w)
			}
		}
		if len(starved) > 0 {
			first := slices.MinFunc(starved, func(a, b *inventory.Workload) int { return inventory.CompareWorkloads(a.Key(), b.Key()) })
			return report.StarvedByQuota(d.where(i), first, s.Cluster, d.heldFor(i, first.Namespace)), true
		}
	}
	return order.Problem{}, false
}

// problems are those of the spec, after the refusal of the target namespace.
func (s *sequence) problems() []order.Problem {
	if s.refused() {
		return slices.Insert(slices.Clone(s.Problems), 0, order.Problem{Reason: v1alpha1.ReasonNamespaceNotAllowed, Message: s.refusal})
	}
	return slices.Clone(s.Problems)
}

// place is the pod's membership in the sequence, and whether it has one. groups are those of its namespace.
func (s *sequence) place(p *pod, groups order.GroupSet) (membership, bool) {
	if p.Terminating {
		return membership{}, false
	}
	group, ok := s.GroupOf(p.Namespace, p.Name, &p.Labels, p.IsUnordered(), groups)
	return membership{sequence: s, group: group}, ok
}

// nameOf names a pod in reports: with its namespace where that may be any.
func (s *sequence) nameOf(p *pod) string {
	if s.Cluster {
		return p.Namespace + "/" + p.Name
	}
	return p.Name
}

// record is what status says of a group that is still defined in the same way, and recordIndex the index that it had there.
func (s *sequence) record(i int) v1alpha1.GroupStatus { return s.Record(&s.object.Status, i) }

func (s *sequence) recordIndex(i int) int { return s.RecordIndex(&s.object.Status, i) }

// refused reports whether the sequence points to a namespace that does not allow it.
func (s *sequence) refused() bool { return s.refusal != "" }

// where names a group of the sequence in messages, wherever it is looked at.
func (s *sequence) where(i int) report.Where {
	return report.Where{Index: i, Groups: len(s.groups), Title: s.groups[i].Title}
}

// setSinceVersion notes since when the sequence counts, which may be since before an edit, and when it became what it is.
func (s *sequence) setSinceVersion(old *sequence, tx *transaction) {
	if s.changedAs = tx.version; s.changedAs == "" && old != nil {
		s.changedAs = old.changedAs
	}
	if s.sinceVersion = tx.version; old != nil && old.UID == s.UID && old.PerNode == s.PerNode && !old.refused() {
		s.sinceVersion = old.sinceVersion
	}
}

// resumedAt is when status says that a suspension was lifted; zero if it does not, or if there can have been none.
func (s *sequence) resumedAt() time.Time {
	if s.Suspended {
		return time.Time{}
	}
	c := meta.FindStatusCondition(s.object.Status.Conditions, v1alpha1.ConditionSuspended)
	if c == nil || c.Status != metav1.ConditionFalse {
		return time.Time{}
	}
	if s.Generation < 2 && !c.LastTransitionTime.After(s.object.CreationTimestamp.Time) {
		return time.Time{} // see Report.Status: it never was suspended
	}
	return c.LastTransitionTime.Time
}

func (s *sequence) isUnreadable() bool {
	return slices.ContainsFunc(s.Problems, func(p order.Problem) bool { return p.Reason == v1alpha1.ReasonInvalidSpec })
}

// pausedIn returns the Deployments that are paused and of which groups lack pods, sorted.
func (s *sequence) pausedIn(groups order.GroupSet) []types.NamespacedName {
	var paused []types.NamespacedName
	for i := range groups.All() {
		for demand := range s.groups[i].demands {
			if w := demand.workload; w.Pause.Paused && demand.entered.Short > 0 {
				paused = append(paused, types.NamespacedName{Namespace: w.Namespace, Name: w.Name})
			}
		}
	}
	slices.SortFunc(paused, compareKeys)
	return paused
}
