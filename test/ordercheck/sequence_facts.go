package ordercheck

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// sequenceFacts are what the rule asks of a PodSequence or ClusterPodSequence. They never change once recorded.
type sequenceFacts struct {
	types.NamespacedName
	kind       string
	stamp      time.Time
	uid        types.UID
	generation int64
	created    time.Time
	target     string // the namespace of the members; none for a ClusterPodSequence
	gate       string
	perNode    bool // the order holds on each node by itself
	continuous bool // a group counts only while it is satisfied
	suspended  bool
	dryRun     bool // it holds nothing, for it is a dry run and not suspended
	timed      bool // some group has a wait or a time-out
	// overrides stands for the annotations that override the spec, overriddenUntil is when they end to count, and afterwards what the facts
	// are then; nil if they do not end.
	overrides       string
	overriddenUntil time.Time
	afterwards      *sequenceFacts
	groups          []groupFacts
	// definitions stand, for each group, for what defines it and those ahead of it.
	definitions []string
	// recorded are the groups that the status says are passed. Only the start of the watch believes it.
	recorded sets.Set[int]
	// recordedReleased are the groups that the status says are released, likewise.
	recordedReleased sets.Set[int]
	// records are what the status says of objects.
	records objectRecords
	// claims are what the status says of objects that are satisfied, for the auditor.
	claims sets.Set[claim]
	// completed is the phase in the status. It says when to stop watching, never what is right.
	completed bool
	// unclear says why this sequence cannot be judged; empty when it can.
	unclear string
}

// isCluster reports whether this is a ClusterPodSequence.
func (f *sequenceFacts) isCluster() bool { return f.kind == v1alpha1.ClusterPodSequenceKind.Kind }

// String names the sequence: namespace/name, or the name alone if it has no namespace.
func (f *sequenceFacts) String() string { return nameIn(f.NamespacedName) }

// nameIn leaves out a namespace that is none.
func nameIn(name types.NamespacedName) string {
	if name.Namespace == "" {
		return name.Name
	}
	return name.String()
}

// kindAndName is how messages call a sequence.
func kindAndName(name types.NamespacedName) string {
	kind := v1alpha1.PodSequenceKind.Kind
	if name.Namespace == "" {
		kind = v1alpha1.ClusterPodSequenceKind.Kind
	}
	return kind + " " + nameIn(name)
}

func readSequence(object *unstructured.Unstructured) facts {
	var sequence v1alpha1.PodSequence
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &sequence); err != nil {
		return unreadable(object, v1alpha1.PodSequenceKind.Kind, err)
	}
	return factsOfSequence(&sequence)
}

func readClusterSequence(object *unstructured.Unstructured) facts {
	var sequence v1alpha1.ClusterPodSequence
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &sequence); err != nil {
		return unreadable(object, v1alpha1.ClusterPodSequenceKind.Kind, err)
	}
	return factsOfClusterSequence(&sequence)
}

// unreadable is a sequence that was stored when the definition allowed more, and that may be fixed later.
func unreadable(object *unstructured.Unstructured, kind string, err error) *sequenceFacts {
	return &sequenceFacts{
		NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()},
		kind:           kind,
		stamp:          newestStamp(object),
		uid:            object.GetUID(),
		generation:     object.GetGeneration(),
		target:         object.GetNamespace(),
		unclear:        fmt.Sprintf("it cannot be read: %v", err),
	}
}

// factsOfClusterSequence reads a ClusterPodSequence as a PodSequence whose groups live in namespaces of their own.
func factsOfClusterSequence(sequence *v1alpha1.ClusterPodSequence) *sequenceFacts {
	spec := &sequence.Spec
	asOne := &v1alpha1.PodSequence{
		ObjectMeta: sequence.ObjectMeta,
		Spec: v1alpha1.PodSequenceSpec{
			Scope: spec.Scope, SchedulingGateName: spec.SchedulingGateName, EnforcementMode: spec.EnforcementMode,
			Suspend: spec.Suspend, DryRun: spec.DryRun,
		},
		Status: sequence.Status,
	}
	homes := make([]home, len(spec.PodGroups))
	var unclear string
	for i := range spec.PodGroups {
		group := &spec.PodGroups[i]
		asOne.Spec.PodGroups = append(asOne.Spec.PodGroups, group.PodGroup)
		homes[i].names = slices.Sorted(slices.Values(group.Namespaces))
		var err error
		switch {
		case isMemberless(&group.PodGroup):
		case (len(group.Namespaces) > 0) == (group.NamespaceSelector != nil):
			unclear = fmt.Sprintf("group %d must have either namespaces or namespaceSelector", i+1)
		case len(group.Pods) > 0 && len(group.Namespaces) != 1:
			unclear = fmt.Sprintf("group %d names pods of more than one namespace", i+1)
		case group.NamespaceSelector != nil:
			if homes[i].selector, err = readSelector(group.NamespaceSelector); err != nil {
				unclear = fmt.Sprintf("read namespaceSelector of group %d: %v", i+1, err)
			}
		}
	}
	f := sequenceFactsOf(asOne, v1alpha1.ClusterPodSequenceKind.Kind, func(group int) home { return homes[group] })
	if unclear != "" {
		f.unclear = unclear
	}
	return f
}

func factsOfSequence(sequence *v1alpha1.PodSequence) *sequenceFacts {
	target := sequence.Spec.Namespace
	if target == "" {
		target = sequence.Namespace
	}
	return sequenceFactsOf(sequence, v1alpha1.PodSequenceKind.Kind, func(int) home { return home{names: []string{target}} })
}

// sequenceFactsOf says by homeOf where the members of each group live.
func sequenceFactsOf(sequence *v1alpha1.PodSequence, kind string, homeOf func(group int) home) *sequenceFacts {
	spec := &sequence.Spec
	f := &sequenceFacts{
		NamespacedName: nameOf(sequence),
		kind:           kind,
		stamp:          newestStamp(sequence),
		uid:            sequence.UID,
		generation:     sequence.Generation,
		created:        sequence.CreationTimestamp.Time,
		target:         spec.Namespace,
		gate:           spec.SchedulingGateName,
		perNode:        spec.Scope == v1alpha1.ScopeNode,
		continuous:     spec.Scope == v1alpha1.ScopeNode || spec.EnforcementMode == v1alpha1.Continuous,
		suspended:      spec.Suspend,
		dryRun:         spec.DryRun && !spec.Suspend,
		records:        readRecords(sequence),
		claims:         readClaims(sequence),
		recorded:       recordedGroups(sequence, func(g v1alpha1.GroupStatus) bool { return isRecordedPassed(sequence, g) }),
		recordedReleased: recordedGroups(sequence,
			func(g v1alpha1.GroupStatus) bool { return g.ReleasedAt != nil || isRecordedPassed(sequence, g) }),
		completed: sequence.Status.Phase == v1alpha1.PhaseCompleted &&
			sequence.Status.ObservedGeneration == sequence.Generation,
	}
	if f.target == "" {
		f.target = sequence.Namespace
	}
	if f.gate == "" {
		f.gate = v1alpha1.DefaultSchedulingGateName
	}
	switch spec.Scope {
	case "", v1alpha1.ScopeCluster, v1alpha1.ScopeNode:
	default:
		f.unclear = fmt.Sprintf("scope %s is not known to the referee", spec.Scope)
	}
	switch spec.EnforcementMode {
	case "", v1alpha1.BootstrapOnly, v1alpha1.Continuous:
	default:
		f.unclear = fmt.Sprintf("enforcementMode %s is not known to the referee", spec.EnforcementMode)
	}
	for i := range spec.PodGroups {
		group, err := readGroup(&spec.PodGroups[i], i, len(spec.PodGroups))
		if err != nil {
			f.unclear = err.Error()
		}
		group.home = homeOf(i)
		f.groups = append(f.groups, group)
		f.timed = f.timed || group.wait > 0 || group.timeout > 0
	}
	f.order()
	f.define()
	f.override(sequence)
	return f
}

// recordedGroups returns the groups of which the status says so. It takes no record of another generation: that may speak of
// other groups.
func recordedGroups(sequence *v1alpha1.PodSequence, so func(v1alpha1.GroupStatus) bool) sets.Set[int] {
	recorded := sets.New[int]()
	if sequence.Status.ObservedGeneration != sequence.Generation {
		return recorded
	}
	for i, record := range sequence.Status.Groups {
		if i < len(sequence.Spec.PodGroups) && so(record) {
			recorded.Insert(i)
		}
	}
	return recorded
}

// isRecordedPassed reports whether the status says that one of its groups was passed: by a pass of this sequence under the hash of the
// group, or in what it says of the group.
func isRecordedPassed(sequence *v1alpha1.PodSequence, group v1alpha1.GroupStatus) bool {
	pass, recorded := sequence.Status.Passes[group.Hash]
	return recorded && group.Hash != "" && pass.UID == sequence.UID || group.PassedAt != nil
}

// groupsIn returns the groups whose members may live in a namespace with these labels, in order.
func (f *sequenceFacts) groupsIn(namespace string, labelled labels.Set) []int {
	var in []int
	for i, group := range f.groups {
		if group.home.includes(namespace, labelled) {
			in = append(in, i)
		}
	}
	return in
}

// groupOf returns the index of the first group that takes the pod, and whether there is one. in are the groups whose members may
// live in its namespace. Only a group that names it takes a pod that is aside.
func (f *sequenceFacts) groupOf(pod *podFacts, aside bool, in []int) (int, bool) {
	if isOurs(pod.Namespace, pod.labels) {
		return 0, false
	}
	for _, g := range in {
		if f.groups[g].takes(pod) && !(aside && f.groups[g].selector != nil) {
			return g, true
		}
	}
	return 0, false
}

// placeOf returns the index of the first group whose selector takes pods with these labels and any name, and whether there
// is one.
func (f *sequenceFacts) placeOf(template labels.Set, in []int) (int, bool) {
	for _, g := range in {
		if f.groups[g].selector != nil && f.groups[g].selector.Matches(template) {
			return g, true
		}
	}
	return 0, false
}

// says compares generations instead of specs: the API server counts it up with every change of the spec. What the
// status records of groups is taken from the first facts of a watch only, so its changes are none. Not so what it says of objects.
func (f *sequenceFacts) says(other facts) bool {
	o, ok := other.(*sequenceFacts)
	return ok && f.uid == o.uid && f.generation == o.generation && f.overrides == o.overrides && f.completed == o.completed &&
		maps.Equal(f.records, o.records)
}

func (f *sequenceFacts) stamped() time.Time { return f.stamp }

func (f *sequenceFacts) as(e event) event {
	e.sequence = f
	return e
}

// override adds what the annotations of a sequence say to its facts. An annotation that makes no sense adds nothing.
func (f *sequenceFacts) override(sequence *v1alpha1.PodSequence) {
	text := func(name string) string { return sequence.Annotations["podsequence.example.com/"+name] }
	f.overrides = strings.Join([]string{text("suspend"), text("skip"), text("override-until")}, "|")
	if end := text("override-until"); end != "" {
		var err error
		if f.overriddenUntil, err = time.Parse(time.RFC3339, end); err != nil {
			return
		}
		plain := *f
		plain.groups = slices.Clone(f.groups)
		f.afterwards = &plain
	}
	f.suspended = f.suspended || text("suspend") == "true"
	f.dryRun = f.dryRun && !f.suspended
	var skipped []int
	for name := range strings.SplitSeq(text("skip"), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		found := false
		for i := range f.groups {
			if f.groups[i].name == name {
				skipped, found = append(skipped, i), true
			}
		}
		if !found {
			return // then none is
		}
	}
	for _, i := range skipped {
		f.groups[i].skip = true
	}
}

// asOf returns the facts as they are when an event arrives: what overrides them may be over.
func (f *sequenceFacts) asOf(e event) *sequenceFacts {
	if f.afterwards != nil && !f.overriddenUntil.After(e.arrived) {
		return f.afterwards
	}
	return f
}

// order works out for each group which others are ahead of it. A group waits for the groups that it depends on, and for all that those
// wait for. One that says nothing of it depends on all groups that are listed before it.
func (f *sequenceFacts) order() {
	for i := range f.groups {
		g := &f.groups[i]
		ahead := sets.New[int]()
		for before := range i {
			if g.dependsOn == nil || f.groups[before].isCalledOneOf(g.dependsOn) {
				ahead.Insert(before).Insert(f.groups[before].ahead...)
			}
		}
		for _, name := range g.dependsOn {
			if !slices.ContainsFunc(f.groups[:i], func(other groupFacts) bool { return other.isCalledOneOf([]string{name}) }) {
				f.unclear = fmt.Sprintf("group %s depends on %q, which no group before it is called", g.label, name)
			}
		}
		g.ahead = sets.List(ahead)
	}
}

// define works out the definitions: that of a group differs from another if that asks for anything else, or if anything ahead
// of it does.
func (f *sequenceFacts) define() {
	for _, group := range f.groups {
		text := fmt.Appendf(nil, "%s %t %s", f.target, f.perNode, group.asks())
		for _, g := range group.ahead {
			text = append(text, f.definitions[g]...)
		}
		definition := sha256.Sum256(text)
		f.definitions = append(f.definitions, string(definition[:]))
	}
}

// matches returns, for each group, the index of the one that another spec defines alike, or -1. Changing namespace or scope
// changes all of them.
func (f *sequenceFacts) matches(other *sequenceFacts) []int {
	matches := make([]int, len(f.groups))
	taken := sets.New[int]()
	for g, definition := range f.definitions {
		matches[g] = -1
		for o, theirs := range other.definitions {
			if theirs == definition && !taken.Has(o) {
				matches[g] = o
				taken.Insert(o)
				break
			}
		}
	}
	return matches
}

// isGraph reports whether some group says itself what it depends on.
func (f *sequenceFacts) isGraph() bool {
	return slices.ContainsFunc(f.groups, func(g groupFacts) bool { return g.dependsOn != nil })
}

// callPod is how messages call a pod: with its namespace if the sequence has several.
func (f *sequenceFacts) callPod(pod types.NamespacedName) string {
	if f.isCluster() {
		return pod.String()
	}
	return pod.Name
}

// call is how messages call a workload.
func (f *sequenceFacts) call(w *workloadFacts) string {
	return w.kind + " " + f.callPod(w.NamespacedName)
}

// point points at one of its groups.
func (f *sequenceFacts) point(group int) Group {
	return Group{Index: group, Name: f.groups[group].name, label: f.groups[group].label}
}
