package ordercheck

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// sequenceFacts are what the rule asks of a PodSequence. They never change once recorded.
type sequenceFacts struct {
	types.NamespacedName
	stamp      time.Time
	uid        types.UID
	generation int64
	created    time.Time
	target     string // the namespace of the members
	gate       string
	perNode    bool // the order holds on each node by itself
	continuous bool // a group counts only while it is satisfied
	suspended  bool
	timed      bool // some group has a wait or a time-out
	groups     []groupFacts
	// definitions stand, for each group, for what defines it and those before it.
	definitions []string
	// hashes are what the status records in the place of definitions. Only the start of the watch believes it.
	hashes []string
	// recorded is how many groups the status says are passed. Only the start of the watch believes it.
	recorded int
	// recordedReleased is how many groups the status says are released, likewise.
	recordedReleased int
	// completed is the phase in the status. It says when to stop watching, never what is right.
	completed bool
	// unclear says why this sequence cannot be judged; empty when it can.
	unclear string
}

func readSequence(object *unstructured.Unstructured) facts {
	var sequence v1alpha1.PodSequence
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &sequence); err != nil {
		// It was stored when the definition allowed more, and may be mended later.
		return &sequenceFacts{
			NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()},
			stamp:          newestStamp(object),
			uid:            object.GetUID(),
			generation:     object.GetGeneration(),
			target:         object.GetNamespace(),
			unclear:        fmt.Sprintf("it cannot be read: %v", err),
		}
	}
	return factsOfSequence(&sequence)
}

func factsOfSequence(sequence *v1alpha1.PodSequence) *sequenceFacts {
	spec := &sequence.Spec
	f := &sequenceFacts{
		NamespacedName: types.NamespacedName{Namespace: sequence.Namespace, Name: sequence.Name},
		stamp:          newestStamp(sequence),
		uid:            sequence.UID,
		generation:     sequence.Generation,
		created:        sequence.CreationTimestamp.Time,
		target:         spec.Namespace,
		gate:           spec.SchedulingGateName,
		perNode:        spec.Scope == v1alpha1.ScopeNode,
		continuous:     spec.Scope == v1alpha1.ScopeNode || spec.EnforcementMode == v1alpha1.Continuous,
		suspended:      spec.Suspend,
		hashes:         hashesOnRecord(sequence),
		recorded:       recordedGroups(sequence, func(g v1alpha1.GroupStatus) bool { return g.PassedAt != nil }),
		recordedReleased: recordedGroups(sequence,
			func(g v1alpha1.GroupStatus) bool { return g.ReleasedAt != nil || g.PassedAt != nil }),
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
		f.groups = append(f.groups, group)
		f.timed = f.timed || group.wait > 0 || group.timeout > 0
	}
	f.define()
	return f
}

// define works out the definitions: one differs from another if it asks for anything else in any group up to its own.
func (f *sequenceFacts) define() {
	definition := sha256.Sum256(fmt.Appendf(nil, "%s %t", f.target, f.perNode))
	for _, group := range f.groups {
		definition = sha256.Sum256(fmt.Appendf(definition[:], " %s", group.asks()))
		f.definitions = append(f.definitions, string(definition[:]))
	}
}

// hashesOnRecord returns the hashes that the status records of the groups as they are defined now.
func hashesOnRecord(sequence *v1alpha1.PodSequence) []string {
	if sequence.Status.ObservedGeneration != sequence.Generation {
		return nil
	}
	var hashes []string
	for _, record := range sequence.Status.Groups {
		hashes = append(hashes, record.Hash)
	}
	return hashes[:min(len(hashes), len(sequence.Spec.PodGroups))]
}

// recordedGroups counts the leading groups of which the status says so. It takes no record of another generation: that may
// speak of other groups.
func recordedGroups(sequence *v1alpha1.PodSequence, so func(v1alpha1.GroupStatus) bool) int {
	if sequence.Status.ObservedGeneration != sequence.Generation {
		return 0
	}
	records := sequence.Status.Groups
	first := slices.IndexFunc(records, func(g v1alpha1.GroupStatus) bool { return !so(g) })
	if first < 0 {
		first = len(records)
	}
	return min(first, len(sequence.Spec.PodGroups))
}

// groupOf returns the index of the first group that takes the pod, and whether there is one.
func (f *sequenceFacts) groupOf(pod *podFacts) (int, bool) {
	if pod.Namespace != f.target {
		return 0, false
	}
	i := slices.IndexFunc(f.groups, func(g groupFacts) bool { return g.takes(pod) })
	return i, i >= 0
}

// placeOf returns the index of the first group whose selector takes pods with these labels and any name, and whether there
// is one.
func (f *sequenceFacts) placeOf(template labels.Set) (int, bool) {
	i := slices.IndexFunc(f.groups, func(g groupFacts) bool { return g.selector != nil && g.selector.Matches(template) })
	return i, i >= 0
}

// sharedWith counts the leading groups that both specs define alike. Changing namespace or scope changes all of them.
func (f *sequenceFacts) sharedWith(other *sequenceFacts) int {
	n := 0
	for n < min(len(f.definitions), len(other.definitions)) && f.definitions[n] == other.definitions[n] {
		n++
	}
	return n
}

// says compares generations instead of specs: the API server counts it up with every change of the spec. What the
// status records is taken from the first facts of a watch only, so its changes are none.
func (f *sequenceFacts) says(other facts) bool {
	o, ok := other.(*sequenceFacts)
	return ok && f.uid == o.uid && f.generation == o.generation && f.completed == o.completed
}

func (f *sequenceFacts) stamped() time.Time { return f.stamp }

func (f *sequenceFacts) as(e event) event {
	e.sequence = f
	return e
}
