package world

import (
	"slices"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// joining is what pods have to do with a sequence that may not be there: their label names one, or their namespace requires one. The chance of
// that has dice of its own, so that what else happens in the world of a seed does not depend on it.
type joining struct {
	dice
	*world
	late *sequence // that pods may name; nil if there is none
}

// joinFrom and joinTo are when sequences come that pods have been waiting for.
const (
	joinFrom = 7 * time.Second
	joinTo   = 14 * time.Second
)

// annotate makes some namespaces require a sequence.
func (j *joining) annotate(annotations map[string]string) map[string]string {
	if !j.chance(15) {
		return annotations
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.RequireSequenceAnnotation] = v1alpha1.RequireSequence
	return annotations
}

// invent makes apps name sequences: one that is there from the beginning, one that comes late, or one that never does.
func (j *joining) invent() {
	if j.chance(40) {
		return
	}
	j.inventLate()
	for _, a := range j.apps {
		if !j.chance(50) {
			continue
		}
		name := "never"
		if here := j.sequencesIn(a.namespace); len(here) > 0 && j.chance(90) {
			name = one(j.dice, here...)
		}
		a.template.Labels[v1alpha1.SequenceLabel] = name
		j.recreate(a)
	}
}

// inventLate adds a sequence of one group that selects nobody: whoever names it is released when it comes. It may go and come again.
func (j *joining) inventLate() {
	if !j.chance(60) {
		return
	}
	late := &sequence{namespace: one(j.dice, j.namespaces...), name: "late"}
	late.spec.Scope = v1alpha1.ScopeCluster
	late.groups = []v1alpha1.ClusterPodGroup{{PodGroup: v1alpha1.PodGroup{Name: "nobody", PodSelector: &v1alpha1.LabelSelector{
		MatchLabels: map[string]v1alpha1.LabelValue{tierLabel: "nobody"},
	}}}}
	j.late = late
	at := j.moment(joinFrom, joinTo)
	j.create(at, late.kind(), late.object())
	if j.chance(30) {
		j.remove(at+2*time.Second, late.kind(), late.namespace, late.name)
		j.create(at+j.moment(3*time.Second, 6*time.Second), late.kind(), late.object())
	}
}

// sequencesIn names the PodSequences that a namespace has or will have.
func (j *joining) sequencesIn(namespace string) []string {
	var names []string
	for _, s := range append(slices.Clone(j.sequences), j.late) {
		if s != nil && s.namespace == namespace {
			names = append(names, s.name)
		}
	}
	return names
}

// editRequirement makes a namespace require a sequence, or stop requiring one.
func (j *joining) editRequirement() {
	if !j.chance(15) {
		return
	}
	at, name := j.moment(editsFrom, editsTo), one(j.dice, j.namespaces...)
	j.patch(at, "Namespace", "", name, object{"metadata": object{"annotations": object{
		v1alpha1.RequireSequenceAnnotation: one[any](j.dice, v1alpha1.RequireSequence, nil),
	}}})
}
