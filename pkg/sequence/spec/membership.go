package spec

import (
	"k8s.io/apimachinery/pkg/labels"
)

// GroupOf returns the group of a pod that is not terminating: the first that names or selects it. A pod of PodSequence itself has
// none, and groups by label have no pods of hooks that no order concerns. groups are those of its namespace.
func (s *Sequence) GroupOf(namespace, name string, podLabels labels.Labels, unordered bool, groups GroupSet) (group int, ok bool) {
	if s.isOwn(namespace, podLabels) {
		return 0, false
	}
	naming := s.byName[namespace][name]
	limit := len(s.Groups)
	if len(naming) > 0 {
		limit = naming[0]
	}
	if unordered {
		limit = 0
	}
	if i, ok := s.selecting(podLabels, limit, groups); ok {
		return i, true
	}
	if len(naming) > 0 {
		return naming[0], true
	}
	return 0, false
}

// GroupOfTemplate returns the group of a workload whose pods have these labels: the first that selects them. groups are those of its
// namespace.
func (s *Sequence) GroupOfTemplate(namespace string, podLabels labels.Labels, groups GroupSet) (group int, ok bool) {
	if s.isOwn(namespace, podLabels) {
		return 0, false
	}
	return s.selecting(podLabels, len(s.Groups), groups)
}

// selecting returns the first of the groups before limit that selects pods with these labels in a namespace where these groups may have
// members.
func (s *Sequence) selecting(podLabels labels.Labels, limit int, groups GroupSet) (group int, ok bool) {
	for i, g := range s.Groups[:limit] {
		if g.Selector != nil && groups.Has(i) && g.Selector.Matches(podLabels) {
			return i, true
		}
	}
	return 0, false
}

// Names returns the groups that name pods of a namespace, in order, by the pod's name: read only.
func (s *Sequence) Names(namespace string) map[string][]int { return s.byName[namespace] }

// MatchCost returns what it costs to match a pod with the sequence, in labels that are compared.
func (s *Sequence) MatchCost() int {
	cost := 1 + len(s.Groups)
	for _, g := range s.Groups {
		if g.Selector == nil {
			continue
		}
		requirements, _ := g.Selector.Requirements()
		for _, r := range requirements {
			cost += 1 + len(r.ValuesUnsorted())
		}
	}
	return cost
}

// AppliesTo reports whether the group is for nodes with these labels.
func (g *Group) AppliesTo(nodeLabels map[string]string) bool {
	return g.NodeSelector == nil || g.NodeSelector.Matches(labels.Set(nodeLabels))
}
