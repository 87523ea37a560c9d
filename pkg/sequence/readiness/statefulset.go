package readiness

import "example.com/podsequence/pkg/sequence/inventory"

// NamedBefore counts the pods of a StatefulSet that groups before one list by name. They are no members of that group, so the
// StatefulSet wants so many fewer there.
func NamedBefore(w *inventory.Workload, byName map[string][]int, group int) int {
	if w.Kind != inventory.KindStatefulSet {
		return 0
	}
	named := 0
	for name, groups := range byName {
		if groups[0] < group && w.OwnsName(name) {
			named++
		}
	}
	return named
}

// IsClaimed reports whether a pod of the workload, which belongs to an earlier group, is to be subtracted from what the
// workload wants of a group. One whose name an earlier group lists is subtracted by NamedBefore.
func IsClaimed(w *inventory.Workload, p *inventory.Pod, byName map[string][]int, group int) bool {
	if p.Failed || !w.Wants(p) {
		return false // it is replaced, or one too many
	}
	if w.Kind != inventory.KindStatefulSet {
		return true
	}
	groups := byName[p.Name]
	return len(groups) == 0 || groups[0] >= group
}
