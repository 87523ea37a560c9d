package order

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

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
