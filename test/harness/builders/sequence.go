// Package builders builds our kinds for tests in few words. For pods and nodes use
// k8s.io/kubernetes/pkg/scheduler/testing.
package builders

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// SequenceWrapper builds a PodSequence.
type SequenceWrapper struct{ v1alpha1.PodSequence }

// MakeSequence begins a PodSequence with the defaults that the API server would fill in.
func MakeSequence(namespace, name string) *SequenceWrapper {
	return &SequenceWrapper{v1alpha1.PodSequence{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.PodSequenceKind.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1},
		Spec: v1alpha1.PodSequenceSpec{
			Scope: v1alpha1.ScopeCluster, SchedulingGateName: v1alpha1.DefaultSchedulingGateName,
		},
	}}
}

// Obj returns the PodSequence.
func (w *SequenceWrapper) Obj() *v1alpha1.PodSequence { return &w.PodSequence }

// UID sets the UID.
func (w *SequenceWrapper) UID(uid string) *SequenceWrapper {
	w.PodSequence.UID = types.UID(uid)
	return w
}

// Generation sets the generation.
func (w *SequenceWrapper) Generation(generation int64) *SequenceWrapper {
	w.PodSequence.Generation = generation
	return w
}

// TargetNamespace sets spec.namespace.
func (w *SequenceWrapper) TargetNamespace(namespace string) *SequenceWrapper {
	w.Spec.Namespace = namespace
	return w
}

// Gate sets spec.schedulingGateName.
func (w *SequenceWrapper) Gate(name string) *SequenceWrapper {
	w.Spec.SchedulingGateName = name
	return w
}

// NodeScope makes the order one on each node by itself.
func (w *SequenceWrapper) NodeScope() *SequenceWrapper {
	w.Spec.Scope = v1alpha1.ScopeNode
	return w
}

// Mode sets spec.enforcementMode.
func (w *SequenceWrapper) Mode(mode v1alpha1.EnforcementMode) *SequenceWrapper {
	w.Spec.EnforcementMode = mode
	return w
}

// Suspend sets spec.suspend.
func (w *SequenceWrapper) Suspend() *SequenceWrapper {
	w.Spec.Suspend = true
	return w
}

// Objects appends a group without members that waits for objects.
func (w *SequenceWrapper) Objects(name string, objects ...v1alpha1.ObjectReference) *SequenceWrapper {
	return w.Group(v1alpha1.PodGroup{Name: name, Objects: objects})
}

// Awaiting makes the last group wait for these objects as well.
func (w *SequenceWrapper) Awaiting(objects ...v1alpha1.ObjectReference) *SequenceWrapper {
	w.last().Objects = append(w.last().Objects, objects...)
	return w
}

// last is the group appended last.
func (w *SequenceWrapper) last() *v1alpha1.PodGroup {
	return &w.Spec.PodGroups[len(w.Spec.PodGroups)-1]
}

// NodeSelector restricts the last group to nodes with this label.
func (w *SequenceWrapper) NodeSelector(key, value string) *SequenceWrapper {
	if w.last().NodeSelector == nil {
		w.last().NodeSelector = map[string]v1alpha1.LabelValue{}
	}
	w.last().NodeSelector[key] = v1alpha1.LabelValue(value)
	return w
}

// Complete requires the members of the last group to complete.
func (w *SequenceWrapper) Complete() *SequenceWrapper {
	w.last().RequiredStatus = v1alpha1.RequireComplete
	return w
}

// Started requires the members of the last group to have started.
func (w *SequenceWrapper) Started() *SequenceWrapper {
	w.last().RequiredStatus = v1alpha1.RequireStarted
	return w
}

// Condition requires the members of the last group to have a condition.
func (w *SequenceWrapper) Condition(kind string) *SequenceWrapper {
	w.last().RequiredCondition = kind
	return w
}

// MinAvailable sets how many members satisfy the last group: a number, or a percentage such as 50%.
func (w *SequenceWrapper) MinAvailable(count string) *SequenceWrapper {
	parsed := intstr.Parse(count)
	w.last().MinAvailable = &parsed
	return w
}

// Wait sets waitDuration of the last group.
func (w *SequenceWrapper) Wait(duration string) *SequenceWrapper {
	w.last().WaitDuration = v1alpha1.Duration(duration)
	return w
}

// Timeout sets timeout of the last group, and onTimeout unless that is empty.
func (w *SequenceWrapper) Timeout(duration string, policy v1alpha1.TimeoutPolicy) *SequenceWrapper {
	w.last().Timeout, w.last().OnTimeout = v1alpha1.Duration(duration), policy
	return w
}

// Group appends a group.
func (w *SequenceWrapper) Group(group v1alpha1.PodGroup) *SequenceWrapper {
	w.Spec.PodGroups = append(w.Spec.PodGroups, group)
	return w
}

// Pods appends a group whose members are named.
func (w *SequenceWrapper) Pods(title string, names ...string) *SequenceWrapper {
	return w.Group(v1alpha1.PodGroup{Name: title, Pods: names})
}

// Label appends a group whose members carry the label. An empty key selects every pod.
func (w *SequenceWrapper) Label(title, key, value string) *SequenceWrapper {
	selector := &v1alpha1.LabelSelector{}
	if key != "" {
		selector.MatchLabels = map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}
	}
	return w.Group(v1alpha1.PodGroup{Name: title, PodSelector: selector})
}

// Expression appends a group whose members meet one requirement.
func (w *SequenceWrapper) Expression(title, key string, op v1alpha1.LabelSelectorOperator, values ...string) *SequenceWrapper {
	requirement := v1alpha1.LabelSelectorRequirement{Key: key, Operator: op}
	for _, value := range values {
		requirement.Values = append(requirement.Values, v1alpha1.LabelValue(value))
	}
	return w.Group(v1alpha1.PodGroup{
		Name:        title,
		PodSelector: &v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelSelectorRequirement{requirement}},
	})
}

// Passed records in status that a group was passed, under the given hash.
func (w *SequenceWrapper) Passed(group int, hash string, at metav1.Time) *SequenceWrapper {
	for len(w.Status.Groups) <= group {
		w.Status.Groups = append(w.Status.Groups, v1alpha1.GroupStatus{})
	}
	w.Status.Groups[group].PassedAt, w.Status.Groups[group].Hash = &at, hash
	return w
}
