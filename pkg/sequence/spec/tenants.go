package spec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// OpenToTenants reports whether a selector of namespaces may reach those of several teams: it names no namespace, and asks for no label
// with one certain value. Whoever may create pods in one of them decides when the group is ready.
// manifests/parts/admission/warnings.yaml has the same rule.
func OpenToTenants(namespaces *v1alpha1.LabelSelector) bool {
	return namespaces != nil && len(namespaces.MatchLabels) == 0 &&
		!slices.ContainsFunc(namespaces.MatchExpressions, func(e v1alpha1.LabelSelectorRequirement) bool {
			return e.Operator == v1alpha1.LabelSelectorOpIn && (len(e.Values) == 1 || e.Key == corev1.LabelMetadataName)
		})
}

// OpenToTenants returns the groups that other groups wait for, and that may have members in namespaces of several teams.
func (s *Sequence) OpenToTenants() GroupSet {
	var awaited, open GroupSet
	if s.DryRun {
		return 0 // nothing waits
	}
	for i, g := range s.Groups[:min(len(s.Groups), MaxGroups)] {
		if awaited |= g.Awaited; g.where.isOpen {
			open.Add(i)
		}
	}
	return open & awaited
}
