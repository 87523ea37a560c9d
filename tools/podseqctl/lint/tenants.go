package lint

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// isOpenToTenants reports whether a selector of namespaces may reach those of several teams: it names no namespace, and asks for no label
// with one certain value. A user who may create pods in one of them decides when the group is ready.
// manifests/parts/admission/warnings.yaml has the same rule.
func isOpenToTenants(namespaces *v1alpha1.LabelSelector) bool {
	return namespaces != nil && len(namespaces.MatchLabels) == 0 &&
		!slices.ContainsFunc(namespaces.MatchExpressions, func(e v1alpha1.LabelSelectorRequirement) bool {
			return e.Operator == v1alpha1.LabelSelectorOpIn && (len(e.Values) == 1 || e.Key == corev1.LabelMetadataName)
		})
}
