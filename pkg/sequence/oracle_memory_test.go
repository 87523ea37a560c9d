package sequence

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// remember moves what a status remembers to the place where this release writes it. Some statuses stay as an earlier release writes
// them, some have it in both places, and some have lost a part of the new one.
func (w *randomWorld) remember(status *v1alpha1.PodSequenceStatus, completed func(group int) bool, over, lost func(group int) *metav1.Time) {
	status.Memory = nil
	if w.oneIn(3) {
		return
	}
	m := &v1alpha1.SequenceMemory{}
	for i, g := range status.Groups {
		m.Groups = append(m.Groups, v1alpha1.GroupMemory{Hash: g.Hash, ChangedAt: g.ChangedAt, Completed: completed(i), FailuresOverAt: over(i), LostAt: lost(i)})
	}
	switch w.IntN(3) {
	case 0:
		for i := range status.Groups {
			status.Groups[i].Hash, status.Groups[i].ChangedAt = "", nil
		}
	case 1:
		m.Groups = m.Groups[:w.IntN(len(m.Groups)+1)]
	}
	status.NodeStatus = slices.DeleteFunc(status.NodeStatus, func(n v1alpha1.NodeStatus) bool {
		return int(n.CurrentIndex) == len(status.Groups) || w.oneIn(8) // of those that wait not all are listed
	})
	status.Memory = m
}

// hashIn is the hash that status has of its group i, and changedAtIn when it says that an edit changed the group.
func hashIn(status *v1alpha1.PodSequenceStatus, i int) string {
	if m := status.Memory; m != nil && i < len(m.Groups) && m.Groups[i].Hash != "" {
		return m.Groups[i].Hash
	}
	return status.Groups[i].Hash
}

func changedAtIn(status *v1alpha1.PodSequenceStatus, i int) *metav1.Time {
	if m := status.Memory; m != nil && i < len(m.Groups) && m.Groups[i].ChangedAt != nil {
		return m.Groups[i].ChangedAt
	}
	return status.Groups[i].ChangedAt
}
