package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/tools/podseqctl/text"
)

// Sequence is a PodSequence or a ClusterPodSequence.
type Sequence struct {
	// Object is what is stored.
	Object *unstructured.Unstructured
	// Spec holds the fields of both kinds; no group of a PodSequence says where its members live.
	Spec   v1alpha1.ClusterPodSequenceSpec
	Status v1alpha1.PodSequenceStatus
	// Target is the namespace of the pods of a PodSequence; empty for a ClusterPodSequence.
	Target string
	// Unreadable says what of the stored object cannot be read.
	Unreadable []string

	stored order.Stored
}

// NewSequence returns the sequence that is stored as the object.
func NewSequence(object *unstructured.Unstructured) (*Sequence, error) {
	s := &Sequence{Object: object}
	switch object.GetKind() {
	case v1alpha1.PodSequenceKind.Kind:
		s.stored = order.Read(object.Object)
		for _, part := range s.stored.Unreadable {
			s.Unreadable = append(s.Unreadable, part.Message)
		}
		stored := s.stored.Spec
		s.Spec = v1alpha1.ClusterPodSequenceSpec{
			Scope: stored.Scope, SchedulingGateName: stored.SchedulingGateName, EnforcementMode: stored.Mode(),
			Suspend: stored.Suspend, DryRun: stored.DryRun,
		}
		for _, group := range stored.PodGroups {
			s.Spec.PodGroups = append(s.Spec.PodGroups, v1alpha1.ClusterPodGroup{PodGroup: group})
		}
		s.Status, s.Target = s.stored.Status, cmp.Or(stored.Namespace, object.GetNamespace())
	case v1alpha1.ClusterPodSequenceKind.Kind:
		s.stored = order.ReadCluster(object.Object)
		for _, part := range s.stored.Unreadable {
			s.Unreadable = append(s.Unreadable, part.Message)
		}
		s.Spec, s.Status = s.stored.Cluster.Spec, s.stored.Cluster.Status
		s.Spec.EnforcementMode = s.Spec.Mode()
	default:
		return nil, fmt.Errorf("%s is not a sequence: give a PodSequence or a ClusterPodSequence", object.GetKind())
	}
	s.Spec.Scope = cmp.Or(s.Spec.Scope, v1alpha1.ScopeCluster)
	return s, nil
}

// Key returns the namespace, empty for a ClusterPodSequence, and the name.
func (s *Sequence) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: s.Object.GetNamespace(), Name: s.Object.GetName()}
}

// IsCluster reports whether it is a ClusterPodSequence.
func (s *Sequence) IsCluster() bool { return s.stored.Cluster != nil }

// PerNode reports whether the order holds on each node by itself.
func (s *Sequence) PerNode() bool { return s.Spec.Scope == v1alpha1.ScopeNode }

// IsSuspended reports whether the spec suspends the sequence, or an annotation, as status says.
func (s *Sequence) IsSuspended() bool {
	return s.Spec.Suspend || meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionSuspended)
}

// State says what is special about the sequence, in the words of status.state. What the spec says is known before status repeats it.
func (s *Sequence) State() string {
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	return report.State{
		Refused:    ready != nil && ready.Reason == v1alpha1.ReasonNamespaceNotAllowed,
		Suspended:  s.IsSuspended(),
		DryRun:     s.Spec.DryRun,
		Overridden: meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionOverridden),
	}.String()
}

// String names the sequence as messages do, such as: PodSequence shop/backend.
func (s *Sequence) String() string {
	if s.IsCluster() {
		return s.Object.GetKind() + " " + s.Object.GetName()
	}
	return s.Object.GetKind() + " " + s.Key().String()
}

// Argument returns what names the sequence on the command line, without its namespace.
func (s *Sequence) Argument() string {
	if s.IsCluster() {
		return "clusterpodsequence/" + s.Object.GetName()
	}
	return s.Object.GetName()
}

// RemoveFormerFinalizer returns the command that removes the finalizer of the controller that PodSequence replaces, and nothing else.
func (s *Sequence) RemoveFormerFinalizer() string {
	i := slices.Index(s.Object.GetFinalizers(), v1alpha1.FormerFinalizer)
	return fmt.Sprintf(`kubectl patch podsequence %s -n %s --type=json -p '[{"op":"test","path":"/metadata/finalizers/%d","value":%q},`+
		`{"op":"remove","path":"/metadata/finalizers/%d"}]'`, s.Object.GetName(), s.Object.GetNamespace(), i, v1alpha1.FormerFinalizer, i)
}

// Title returns the name of a group, or "Group <n>".
func (s *Sequence) Title(group int) string {
	return cmp.Or(s.Spec.PodGroups[group].Name, fmt.Sprintf("Group %d", group+1))
}

// Where names a group as messages do, such as: group 1/3 "Database".
func (s *Sequence) Where(group int) string {
	return fmt.Sprintf("group %d/%d %q", group+1, len(s.Spec.PodGroups), s.Title(group))
}

// Place returns what names a group on the command line whatever groups are called, such as: 2/3.
func (s *Sequence) Place(group int) string {
	return fmt.Sprintf("%d/%d", group+1, len(s.Spec.PodGroups))
}

// GroupNamed returns the 0-based index of a group by its place, its title, or its number from 1; upper and lower case are the same where
// no title is written exactly so. It fails if the name may mean several groups: stored sequences may have groups of the same name.
func (s *Sequence) GroupNamed(name string) (int, error) {
	if place := s.groupsWhere(func(i int) bool { return s.Place(i) == name }); len(place) > 0 {
		return place[0], nil
	}
	matching := s.groupsWhere(func(i int) bool { return s.Title(i) == name || strconv.Itoa(i+1) == name })
	if len(matching) == 0 {
		matching = s.groupsWhere(func(i int) bool { return strings.EqualFold(s.Title(i), name) })
	}
	switch len(matching) {
	case 0:
		return 0, s.noGroup(name)
	case 1:
		return matching[0], nil
	}
	places := make([]string, len(matching))
	for n, i := range matching {
		places[n] = fmt.Sprintf("%s for %s", s.Place(i), s.Where(i))
	}
	return 0, fmt.Errorf("%q may be several groups of %s: give %s", name, s, strings.Join(places, ", or "))
}

// noGroup says which groups there are, and which is meant.
func (s *Sequence) noGroup(name string) error {
	const most = 10
	titles, quoted := make([]string, len(s.Spec.PodGroups)), make([]string, len(s.Spec.PodGroups))
	for i := range titles {
		titles[i], quoted[i] = s.Title(i), strconv.Quote(s.Title(i))
	}
	isPlace := strings.Trim(name, "0123456789/") == ""
	if meant, ok := text.Closest(name, titles); ok && !isPlace {
		return fmt.Errorf("%s has no group %q: did you mean %q?", s, name, meant)
	}
	return fmt.Errorf("%s has no group %q: give one of %s, or its number from 1 to %d", s, name, text.Names(quoted, most), len(titles))
}

// groupsWhere returns the indices of the groups of which something is true.
func (s *Sequence) groupsWhere(is func(int) bool) []int {
	var matching []int
	for i := range s.Spec.PodGroups {
		if is(i) {
			matching = append(matching, i)
		}
	}
	return matching
}

// Gate returns the scheduling gate that the sequence lifts.
func (s *Sequence) Gate() string {
	return cmp.Or(s.Spec.SchedulingGateName, v1alpha1.DefaultSchedulingGateName)
}

// answersWithin is how long podsequence-controller may take to answer a change before somebody should look after it.
const answersWithin = 10 * time.Second

// Unwritten says that the stored status is not about the present spec; empty if it is. late reports that this has been so for longer
// than podsequence-controller takes.
func (s *Sequence) Unwritten(now time.Time) (said string, late bool) {
	switch {
	case len(s.Status.Conditions) == 0:
		said = "it has no status yet"
	case s.Status.ObservedGeneration < s.Object.GetGeneration():
		said = "its status is about an earlier spec"
	default:
		return "", false
	}
	ago := max(0, now.Sub(s.changedAt()))
	if ago < answersWithin {
		return fmt.Sprintf("%s: the last change was %s ago", said, duration.HumanDuration(ago)), false
	}
	return fmt.Sprintf("%s, although the last change was %s ago: is podsequence-controller running?", said, duration.HumanDuration(ago)), true
}

// changedAt returns when somebody last changed anything but the status. The API server keeps that for each writer.
func (s *Sequence) changedAt() time.Time {
	last := s.Object.GetCreationTimestamp().Time
	for _, entry := range s.Object.GetManagedFields() {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// namespacesByName returns the namespaces where members live, as far as the spec names them; all is false if labels select more.
func (s *Sequence) namespacesByName() (names []string, all bool) {
	if !s.IsCluster() {
		return []string{s.Target}, true
	}
	all = true
	for _, group := range s.Spec.PodGroups {
		names = append(names, group.Namespaces...)
		all = all && group.NamespaceSelector == nil
	}
	slices.Sort(names)
	return slices.Compact(names), all
}

// Compare sorts sequences: PodSequences first, by namespace and name.
func Compare(a, b *Sequence) int {
	if a.IsCluster() != b.IsCluster() {
		if b.IsCluster() {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Key().Namespace, b.Key().Namespace), cmp.Compare(a.Key().Name, b.Key().Name))
}
