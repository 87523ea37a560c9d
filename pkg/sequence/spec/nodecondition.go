package spec

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// compileNodeConditions reads which conditions must hold on a node.
func (s *Sequence) compileNodeConditions(i int, spec *v1alpha1.PodGroup, g *Group) {
	if len(spec.NodeConditions) == 0 {
		return
	}
	if !s.PerNode {
		g.Unreadable = true // so that nothing after it starts early
		s.problem(v1alpha1.ReasonInvalidSpec,
			"spec.podGroups[%d].nodeConditions is only for scope Node: remove it, or set scope to Node; until then the group does not count as ready", i)
		return
	}
	g.NodeConditions = normalConditions(spec.NodeConditions)
}

// normalConditions returns the same requirements with their defaults, sorted by type. The order of the spec means nothing.
func normalConditions(in []v1alpha1.NodeConditionRequirement) []v1alpha1.NodeConditionRequirement {
	if len(in) == 0 {
		return nil
	}
	out := slices.Clone(in)
	for i := range out {
		out[i].Status = cmp.Or(out[i].Status, metav1.ConditionTrue)
		out[i].WhenAbsent = cmp.Or(out[i].WhenAbsent, v1alpha1.AbsentWait)
	}
	slices.SortStableFunc(out, func(a, b v1alpha1.NodeConditionRequirement) int { return strings.Compare(a.Type, b.Type) })
	return out
}

// AsksNode reports whether some group asks for a node's condition of this type.
func (s *Sequence) AsksNode(condition string) bool {
	return slices.ContainsFunc(s.Groups, func(g *Group) bool {
		return slices.ContainsFunc(g.NodeConditions, func(r v1alpha1.NodeConditionRequirement) bool { return r.Type == condition })
	})
}
