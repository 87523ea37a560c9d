package report

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// memory is what the programs must find in status after a restart. It repeats what groups has for earlier releases.
func (r Report) memory(groups []v1alpha1.GroupStatus) *v1alpha1.SequenceMemory {
	if !slices.ContainsFunc(groups, func(g v1alpha1.GroupStatus) bool { return g.Hash != "" }) {
		return nil
	}
	m := &v1alpha1.SequenceMemory{}
	for i, g := range groups {
		m.Groups = append(m.Groups, v1alpha1.GroupMemory{Hash: g.Hash, ChangedAt: g.ChangedAt, Completed: r.Groups[i].Completed})
		if at := r.Groups[i].LostAt; !at.IsZero() {
			m.Groups[i].LostAt = new(metav1.NewTime(at))
		}
		if at := r.Groups[i].FailuresOverAt; !at.IsZero() {
			m.Groups[i].FailuresOverAt = new(metav1.NewTime(at))
		}
	}
	return m
}
