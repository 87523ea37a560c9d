package sequence

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// wasLetGo reports whether the pod has got what a release gives: a node, or, while it waits for one, its freedom from gates. A pod of our
// scheduler may never have had one, and only the scheduler's attempt to place it tells.
func wasLetGo(p *corev1.Pod) bool {
	tried := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == "PodScheduled" && c.Status == "False" && (c.Reason == "Unschedulable" || c.Reason == "SchedulerError" || !c.LastProbeTime.IsZero())
	})
	switch {
	case p.Spec.NodeName != "":
		return true
	case slices.ContainsFunc(p.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool {
		return strings.HasPrefix(g.Name, "podsequence.example.com/")
	}):
		return false
	}
	return p.Spec.SchedulerName != oracleScheduler || tried
}

// releasedIn is the group in which the sequence released the pod, as the proof on it says, or -1, and the groups that the pod
// did not wait for, because they were skipped.
func (o *oracle) releasedIn(v *view, p *corev1.Pod) (group int, skipped []int) {
	if _, member := v.groupOf[oracleKey(p)]; !member || !wasLetGo(p) {
		return -1, nil
	}
	marks := strings.Split(p.Annotations["podsequence.example.com/released"], " ")
	if marks[0] != string(p.UID) {
		return -1, nil
	}
	for _, mark := range marks[1:] {
		uid, text, _ := strings.Cut(mark, "/")
		hashes := strings.Split(text, "-")
		if definition, known := o.definitions[hashes[0]]; known && uid == string(v.UID) {
			for _, hash := range hashes[1:] {
				skipped = append(skipped, slices.Index(v.definitions, o.definitions[hash]))
			}
			group := slices.Index(v.definitions, definition)
			for i := range group {
				if v.Spec.Scope == v1alpha1.ScopeNode && p.Spec.NodeName == "" && precedes(v.PodSequence, i, group) && !slices.Contains(skipped, i) {
					return -1, nil // it was tried though no node was open
				}
			}
			return group, skipped
		}
	}
	return -1, nil
}
