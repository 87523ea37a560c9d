package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
)

// Snapshot is what there is at one moment.
type Snapshot struct {
	*Objects
	// Now is the moment.
	Now time.Time
	// Config is what the operator of the cluster decided, as far as the user says so.
	Config sequence.Config

	engine    *sequence.Engine
	pods      map[types.NamespacedName]*corev1.Pod
	sequences map[types.NamespacedName]*Sequence
	owned     map[types.UID][]*corev1.Pod
	statusOf  map[types.NamespacedName]v1alpha1.PodSequenceStatus
	unknown   map[types.NamespacedName]string
	events    map[types.UID][]*corev1.Event
	podGroups map[podgroups.Reference]int
}

// New returns the snapshot of these objects.
func New(objects *Objects, config sequence.Config, now time.Time) *Snapshot {
	s := &Snapshot{
		Objects: objects, Now: now, Config: config, engine: sequence.NewEngine(config),
		pods: map[types.NamespacedName]*corev1.Pod{}, sequences: map[types.NamespacedName]*Sequence{}, owned: map[types.UID][]*corev1.Pod{},
		statusOf: map[types.NamespacedName]v1alpha1.PodSequenceStatus{}, unknown: map[types.NamespacedName]string{},
		events: map[types.UID][]*corev1.Event{}, podGroups: map[podgroups.Reference]int{},
	}
	slices.SortStableFunc(objects.Sequences, Compare)
	for _, pod := range objects.Pods {
		s.pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = pod
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			s.owned[owner.UID] = append(s.owned[owner.UID], pod)
		}
	}
	for _, event := range objects.Events {
		s.events[event.InvolvedObject.UID] = append(s.events[event.InvolvedObject.UID], event)
	}
	for _, group := range objects.PodGroups {
		s.podGroups[group.Reference] = group.Minimum
	}
	for _, each := range objects.Sequences {
		s.sequences[each.Key()] = each
		if why := s.missing(each); why != "" {
			s.unknown[each.Key()] = why
		}
	}
	s.feed()
	return s
}

// version is that of the lists. It need not be real: nothing comes later.
const version = "1"

// feed tells the engine of everything in the order in which it expects that.
func (s *Snapshot) feed() {
	e := s.engine
	e.Tick(s.Now)
	e.ReplaceNamespaces(s.Namespaces, version)
	if s.AllNodes {
		e.ReplaceNodes(s.Nodes, version)
	}
	for _, node := range s.Nodes {
		e.ApplyNode(node)
	}
	for kind, objects := range s.Workloads {
		e.ReplaceWorkloads(kind, objects, version)
	}
	e.ReplacePods(s.Pods, version)
	var stored, cluster []order.Stored
	for _, each := range s.Sequences {
		switch _, unknown := s.unknown[each.Key()]; {
		case unknown:
		case each.IsCluster():
			cluster = append(cluster, each.stored)
		default:
			stored = append(stored, each.stored)
		}
	}
	e.ReplaceSequences(stored, version)
	e.ReplaceClusterSequences(cluster, version)
	e.Tick(s.Now)
}

// missing says why the engine cannot judge a sequence; empty if it can.
func (s *Snapshot) missing(each *Sequence) string {
	if each.PerNode() && !s.NodesRead {
		return "you may not read nodes"
	}
	names, all := each.namespacesByName()
	if !all && !s.NamespacesRead {
		return "you may not read namespaces"
	}
	if !all {
		names = s.targets(each, s.Config)
	}
	for _, name := range names {
		if !s.Complete[name] {
			return fmt.Sprintf("you may not read the pods of namespace %s", name)
		}
	}
	return ""
}

// Judged reports whether the engine knows the sequence; if not, only its status is known, and why says what is missing.
func (s *Snapshot) Judged(each *Sequence) (why string, ok bool) {
	why, unknown := s.unknown[each.Key()]
	return why, !unknown
}

// Sequence returns a sequence by its key; nil if there is none, or if it may not be read.
func (s *Snapshot) Sequence(key types.NamespacedName) *Sequence { return s.sequences[key] }

// Pod returns a pod; nil if there is none.
func (s *Snapshot) Pod(namespace, name string) *corev1.Pod {
	return s.pods[types.NamespacedName{Namespace: namespace, Name: name}]
}

// Member returns the pod that a report names for a sequence: by its name, or by namespace/name in a ClusterPodSequence.
func (s *Snapshot) Member(of *Sequence, name string) *corev1.Pod {
	namespace, short, ok := strings.Cut(name, "/")
	if !ok {
		namespace, short = of.Target, name
	}
	return s.Pod(namespace, short)
}

// ReachedAt reports whether a pod says that it has reached what a group requires of its members, and since when, as far as it says.
func ReachedAt(pod *corev1.Pod, group *v1alpha1.PodGroup) (at time.Time, reached bool) {
	view := inventory.ViewPod(pod)
	is := view.Reached(inventory.Requirement{Status: group.RequiredStatus, Condition: group.RequiredCondition})
	return is.At.Time(), is.Done
}

// Report returns how far a sequence is, as the engine says; ok is false if the engine does not know it.
func (s *Snapshot) Report(of *Sequence) (r report.Report, ok bool) {
	return s.engine.Report(of.Key())
}

// Status returns how far a sequence is in the words of the API: as of now if the engine knows the sequence, else as it was written.
func (s *Snapshot) Status(of *Sequence) v1alpha1.PodSequenceStatus {
	if status, ok := s.statusOf[of.Key()]; ok {
		return status
	}
	status := of.Status
	if report, ok := s.Report(of); ok {
		status = report.Status(report.Object, s.Now)
	}
	if status.State == "" && status.Phase != "" { // an earlier release wrote it
		status.State = of.State()
	}
	s.statusOf[of.Key()] = status
	return status
}

// Places returns the groups that sequences have for a pod.
func (s *Snapshot) Places(pod *corev1.Pod) []sequence.Place { return s.engine.Places(pod) }

// Outdated says that a pod that is not ready is of an older revision that is not replaced; empty if it is not.
func (s *Snapshot) Outdated(pod *corev1.Pod) string { return s.engine.Outdated(pod) }

// Stray says that a pod has the label of a sequence of which no group selects it; empty if it is not so.
func (s *Snapshot) Stray(pod *corev1.Pod) string { return s.engine.Stray(pod) }

// AwaitsSequence reports whether a pod waits for a sequence that does not exist, and why. One that was not read wholly exists.
func (s *Snapshot) AwaitsSequence(pod *corev1.Pod) (why report.Decision, awaits bool) {
	why = s.engine.Decide(pod)
	return why, why.AwaitsSequence() && s.sequences[why.Sequence] == nil
}

// Parts returns the workloads of which a group expects pods.
func (s *Snapshot) Parts(of *Sequence, group int) []sequence.WorkloadPart {
	return s.engine.Workloads(of.Key(), group)
}

// Awaited returns the objects that a group waits for, as its status records them.
func (s *Snapshot) Awaited(of *Sequence, group int) []sequence.Object {
	return s.engine.Objects(of.Key(), group)
}

// Predecessors returns the groups that must be passed before pods of a group may be scheduled.
func (s *Snapshot) Predecessors(of *Sequence, group int) []int {
	return s.engine.Predecessors(of.Key(), group)
}

// Blocking returns the groups that a group waits for and that nothing but their own pods keeps from being passed: the
// predecessors that are not passed, and whose own predecessors are.
func (s *Snapshot) Blocking(of *Sequence, group int) []int {
	status := s.Status(of)
	open := func(i int) bool {
		return i < len(status.Groups) && status.Groups[i].Phase != v1alpha1.GroupPassed && status.Groups[i].Phase != v1alpha1.GroupSkipped
	}
	var blocking []int
	for _, i := range s.Predecessors(of, group) {
		if open(i) && !slices.ContainsFunc(s.Predecessors(of, i), open) {
			blocking = append(blocking, i)
		}
	}
	return blocking
}

// Owned returns the pods that a workload owns; those of a Deployment belong to its ReplicaSets.
func (s *Snapshot) Owned(workload metav1.Object) []*corev1.Pod {
	pods := slices.Clone(s.owned[workload.GetUID()])
	for _, set := range s.Workloads[inventory.KindReplicaSet] {
		if metav1.IsControlledBy(set, workload) {
			pods = append(pods, s.owned[set.GetUID()]...)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// Workload returns a workload; nil if there is none.
func (s *Snapshot) Workload(kind inventory.Kind, namespace, name string) metav1.Object {
	for _, object := range s.Workloads[kind] {
		if object.GetNamespace() == namespace && object.GetName() == name {
			return object
		}
	}
	return nil
}

// ReplicaSetsOf returns the ReplicaSets of a Deployment.
func (s *Snapshot) ReplicaSetsOf(deployment metav1.Object) []metav1.Object {
	var sets []metav1.Object
	for _, set := range s.Workloads[inventory.KindReplicaSet] {
		if metav1.IsControlledBy(set, deployment) {
			sets = append(sets, set)
		}
	}
	return sets
}

// Warning returns the newest warning about an object with one of the reasons; nil if there is none.
func (s *Snapshot) Warning(uid types.UID, reasons ...string) *corev1.Event {
	var newest *corev1.Event
	for _, event := range s.events[uid] {
		if slices.Contains(reasons, event.Reason) && (newest == nil || eventTime(event).After(eventTime(newest))) {
			newest = event
		}
	}
	return newest
}

func eventTime(event *corev1.Event) time.Time {
	at := event.LastTimestamp.Time
	for _, other := range []time.Time{event.EventTime.Time, event.FirstTimestamp.Time} {
		if at.IsZero() {
			at = other
		}
	}
	if event.Series != nil && event.Series.LastObservedTime.After(at) {
		at = event.Series.LastObservedTime.Time
	}
	return at
}

// PodGroupMinimum returns how many pods a PodGroup asks for; ok is false if it is not there or may not be read.
func (s *Snapshot) PodGroupMinimum(reference podgroups.Reference) (minimum int, ok bool) {
	minimum, ok = s.podGroups[reference]
	return minimum, ok
}

// MembersByGroup returns the pods of each group of a sequence, by namespace and name, without those that failed and are replaced. They
// are empty if the engine does not know the sequence.
func (s *Snapshot) MembersByGroup(of *Sequence) [][]*corev1.Pod {
	members := make([][]*corev1.Pod, len(of.Spec.PodGroups))
	for _, pod := range s.Pods {
		if inventory.IsReplaced(pod) {
			continue
		}
		for _, place := range s.Places(pod) {
			if place.Sequence == of.Key() && place.Group < len(members) {
				members[place.Group] = append(members[place.Group], pod)
			}
		}
	}
	for _, pods := range members {
		slices.SortFunc(pods, func(a, b *corev1.Pod) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
	}
	return members
}

// OwnedByName returns the pods that an owner of any kind has, by itself or by workloads that it owns. The kind is compared
// without regard to case.
func (s *Snapshot) OwnedByName(kind, namespace, name string) []*corev1.Pod {
	isOwner := func(object metav1.Object) bool {
		owner := metav1.GetControllerOfNoCopy(object)
		return owner != nil && object.GetNamespace() == namespace && owner.Name == name &&
			(strings.EqualFold(owner.Kind, kind) || strings.EqualFold(owner.Kind+"s", kind))
	}
	var pods []*corev1.Pod
	for _, pod := range s.Pods {
		if isOwner(pod) {
			pods = append(pods, pod)
		}
	}
	for _, objects := range s.Workloads {
		for _, object := range objects {
			if isOwner(object) {
				pods = append(pods, s.Owned(object)...)
			}
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}
