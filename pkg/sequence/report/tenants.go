package report

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// openToTenants returns the condition that says which groups let users of other namespaces decide what starts; none for a sequence that
// never had such groups.
func (r Report) openToTenants(ps *v1alpha1.PodSequence) []metav1.Condition {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionOpenToTenants, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonAsExpected,
		Message: "no group that others wait for selects namespaces of several teams",
	}
	var groups []string
	for i := range r.OpenToTenants.All() {
		groups = append(groups, Where{Index: i, Groups: len(r.Groups), Title: r.Groups[i].Title}.String())
	}
	if len(groups) > 0 {
		means := "one that is never ready, or release them with a ready one if minAvailable is set"
		if r.PerNode {
			means = "one that is never ready, also on nodes of their choice by spec.nodeName, or release them with a ready one if minAvailable is set"
		}
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonNamespacesOfOthers
		condition.Message = cutMessage(fmt.Sprintf("other groups wait for %s, whose namespaceSelector may select namespaces of several teams: "+
			"whoever may create pods in one of them can hold the pods of later groups with %s; list the namespaces that you control in namespaces",
			first(groups), means))
	} else if meta.FindStatusCondition(ps.Status.Conditions, condition.Type) == nil {
		return nil
	}
	return []metav1.Condition{condition}
}
