package spec

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// GroupOf returns the group of a pod that is not terminating: the first that names or selects it.
func (s *Sequence) GroupOf(name string, podLabels labels.Labels) (group int, ok bool) {
	naming := s.ByName[name]
	limit := len(s.Groups)
	if len(naming) > 0 {
		limit = naming[0]
	}
	if i, ok := s.Selecting(podLabels, limit); ok {
		return i, true
	}
	if len(naming) > 0 {
		return naming[0], true
	}
	return 0, false
}

// Selecting returns the first of the groups before limit that selects pods with these labels.
func (s *Sequence) Selecting(podLabels labels.Labels, limit int) (group int, ok bool) {
	for i, g := range s.Groups[:limit] {
		if g.Selector != nil && g.Selector.Matches(podLabels) {
			return i, true
		}
	}
	return 0, false
}

// Selects reports whether any group has its members by label.
func (s *Sequence) Selects() bool {
	return slices.ContainsFunc(s.Groups, func(g *Group) bool { return g.Selector != nil })
}

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

// FirstOn returns the first group that is for nodes with these labels; len(Groups) if none is.
func (s *Sequence) FirstOn(nodeLabels map[string]string) int {
	for i, g := range s.Groups {
		if g.AppliesTo(nodeLabels) {
			return i
		}
	}
	return len(s.Groups)
}

// SameMembers reports whether every pod has the same group in two versions of one sequence.
func (s *Sequence) SameMembers(other *Sequence) bool {
	last := len(s.Groups) - 1
	return s.UID == other.UID && s.Namespace == other.Namespace &&
		len(s.Groups) == len(other.Groups) && s.Groups[last].Hash == other.Groups[last].Hash
}
