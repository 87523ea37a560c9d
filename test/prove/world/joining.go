package world

import (
	"fmt"
	"slices"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/prove/plan"
)

// Some pods ask for a sequence that may not be there: their label names one, or their namespace requires one. The chance of that has
// dice of its own, so that what else happens in the world of a seed does not depend on it.

// joinFrom and joinTo are when sequences come that pods have been waiting for.
const (
	joinFrom = 7 * time.Second
	joinTo   = 14 * time.Second
)

// inventRequirement makes some namespaces require a sequence.
func (w *world) inventRequirement(annotations map[string]string) map[string]string {
	if !w.joining.chance(15) {
		return annotations
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.RequireSequenceAnnotation] = v1alpha1.RequireSequence
	return annotations
}

// inventJoining makes apps name sequences: one that is there from the beginning, one that comes late, or one that never does.
func (w *world) inventJoining() {
	if w.joining.chance(40) {
		return
	}
	w.inventLate()
	for _, a := range w.apps {
		if !w.joining.chance(50) {
			continue
		}
		name := "never"
		if here := w.sequencesIn(a.namespace); len(here) > 0 && w.joining.chance(90) {
			name = one(w.joining, here...)
		}
		a.template.Labels[v1alpha1.SequenceLabel] = name
		w.recreate(a)
	}
}

// inventLate adds a sequence of one group that selects nobody: whoever names it is released when it comes. It may go and come again.
func (w *world) inventLate() {
	if !w.joining.chance(60) {
		return
	}
	late := &sequence{namespace: one(w.joining, w.namespaces...), name: "late"}
	late.spec.Scope = v1alpha1.ScopeCluster
	late.groups = []v1alpha1.ClusterPodGroup{{PodGroup: v1alpha1.PodGroup{Name: "nobody", PodSelector: &v1alpha1.LabelSelector{
		MatchLabels: map[string]v1alpha1.LabelValue{tierLabel: "nobody"},
	}}}}
	w.late = late
	at := w.joining.moment(joinFrom, joinTo)
	w.create(at, late.kind(), late.object())
	if w.joining.chance(30) {
		w.remove(at+2*time.Second, late.kind(), late.namespace, late.name)
		w.create(at+w.joining.moment(3*time.Second, 6*time.Second), late.kind(), late.object())
	}
}

// sequencesIn names the PodSequences that a namespace has or will have.
func (w *world) sequencesIn(namespace string) []string {
	var names []string
	for _, s := range append(slices.Clone(w.sequences), w.late) {
		if s != nil && s.namespace == namespace {
			names = append(names, s.name)
		}
	}
	return names
}

// recreate updates the step that creates an app, so that it creates the app as it is now.
func (w *world) recreate(a *app) {
	for i, step := range w.plan.Steps {
		if step.Verb == plan.Create && step.Args[0] == a.kind && step.Args[1] == nameOf(a.namespace, a.name) {
			w.plan.Steps[i].Body = encode(a.object())
			return
		}
	}
	panic(fmt.Sprintf("%s %s/%s is never created", a.kind, a.namespace, a.name))
}

// editRequirement makes a namespace require a sequence, or stop requiring one.
func (w *world) editRequirement() {
	if !w.joining.chance(15) {
		return
	}
	at, name := w.joining.moment(editsFrom, editsTo), one(w.joining, w.namespaces...)
	w.patch(at, "Namespace", "", name, object{"metadata": object{"annotations": object{
		v1alpha1.RequireSequenceAnnotation: one[any](w.joining, v1alpha1.RequireSequence, nil),
	}}})
}
