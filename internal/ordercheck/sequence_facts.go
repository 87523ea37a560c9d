package ordercheck

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// sequenceFacts are what the rule asks of a PodSequence. They never change once recorded.
type sequenceFacts struct {
	types.NamespacedName
	uid        types.UID
	generation int64
	target     string // the namespace of the members
	gate       string
	groups     []groupFacts
	// recorded is how many groups the status says are passed. Only the start of the watch believes it.
	recorded int
	// completed is the phase in the status. It says when to stop watching, never what is right.
	completed bool
	// unclear says why this sequence cannot be judged; empty when it can.
	unclear string
}

// groupFacts is one group: either names or a selector.
type groupFacts struct {
	label    string // how messages call it: 1/3 "Database"
	name     string
	names    []string
	selector labels.Selector
}

func readSequence(object *unstructured.Unstructured) facts {
	var sequence v1alpha1.PodSequence
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &sequence); err != nil {
		// It was stored when the definition allowed more, and may be mended later.
		return &sequenceFacts{
			NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()},
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
		uid:            sequence.UID,
		generation:     sequence.Generation,
		target:         spec.Namespace,
		gate:           spec.SchedulingGateName,
		recorded:       recordedPasses(sequence),
		completed: sequence.Status.Phase == v1alpha1.PhaseCompleted &&
			sequence.Status.ObservedGeneration == sequence.Generation,
	}
	if f.target == "" {
		f.target = sequence.Namespace
	}
	if f.gate == "" {
		f.gate = v1alpha1.DefaultSchedulingGateName
	}
	if spec.Scope != "" && spec.Scope != v1alpha1.ScopeCluster {
		f.unclear = fmt.Sprintf("scope %s is not known to the referee", spec.Scope)
	}
	for i := range spec.PodGroups {
		group, err := readGroup(&spec.PodGroups[i], i, len(spec.PodGroups))
		if err != nil {
			f.unclear = err.Error()
		}
		f.groups = append(f.groups, group)
	}
	return f
}

// recordedPasses takes no record of another generation: it may speak of other groups.
func recordedPasses(sequence *v1alpha1.PodSequence) int {
	if sequence.Status.ObservedGeneration != sequence.Generation {
		return 0
	}
	records := sequence.Status.Groups
	first := slices.IndexFunc(records, func(g v1alpha1.GroupStatus) bool { return g.PassedAt == nil })
	if first < 0 {
		first = len(records)
	}
	return min(first, len(sequence.Spec.PodGroups))
}

func readGroup(group *v1alpha1.PodGroup, index, of int) (groupFacts, error) {
	f := groupFacts{name: group.Name, label: fmt.Sprintf("%d/%d", index+1, of)}
	if group.Name == "" {
		f.name = fmt.Sprintf("Group %d", index+1)
	}
	f.label += fmt.Sprintf(" %q", f.name)
	if (len(group.Pods) > 0) == (group.PodSelector != nil) {
		return f, fmt.Errorf("group %s must have either pods or podSelector", f.label)
	}
	if group.PodSelector == nil {
		f.names = slices.Compact(slices.Sorted(slices.Values(group.Pods)))
		return f, nil
	}
	selector, err := readSelector(group.PodSelector)
	if err != nil {
		return f, fmt.Errorf("read podSelector of group %s: %w", f.label, err)
	}
	f.selector = selector
	return f, nil
}

func readSelector(selector *v1alpha1.LabelSelector) (labels.Selector, error) {
	out := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for key, value := range selector.MatchLabels {
		out.MatchLabels[key] = string(value)
	}
	for _, expression := range selector.MatchExpressions {
		requirement := metav1.LabelSelectorRequirement{
			Key:      expression.Key,
			Operator: metav1.LabelSelectorOperator(expression.Operator),
		}
		for _, value := range expression.Values {
			requirement.Values = append(requirement.Values, string(value))
		}
		out.MatchExpressions = append(out.MatchExpressions, requirement)
	}
	return metav1.LabelSelectorAsSelector(out)
}

// takes says whether the group names or selects the pod.
func (g groupFacts) takes(pod *podFacts) bool {
	if g.selector != nil {
		return g.selector.Matches(pod.labels)
	}
	return slices.Contains(g.names, pod.Name)
}

// asks is the same for two groups if and only if they ask for the same members.
func (g groupFacts) asks() string {
	if g.selector != nil {
		return "selector:" + g.selector.String()
	}
	return "names:" + strings.Join(g.names, ",")
}

// groupOf returns the index of the first group that takes the pod, and whether there is one.
func (f *sequenceFacts) groupOf(pod *podFacts) (int, bool) {
	if pod.Namespace != f.target {
		return 0, false
	}
	i := slices.IndexFunc(f.groups, func(g groupFacts) bool { return g.takes(pod) })
	return i, i >= 0
}

// sharedWith counts the leading groups that both specs define alike. Changing the namespace changes all of them.
func (f *sequenceFacts) sharedWith(other *sequenceFacts) int {
	if f.target != other.target {
		return 0
	}
	n := 0
	for n < min(len(f.groups), len(other.groups)) && f.groups[n].asks() == other.groups[n].asks() {
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

func (f *sequenceFacts) as(e event) event {
	e.sequence = f
	return e
}
