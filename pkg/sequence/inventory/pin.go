package inventory

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Pin is the one node, or the one host name, that a pod asks for. It is zero if others will do, too.
type Pin struct{ Node, Host string }

// IsOne reports whether the pod asks for one.
func (p Pin) IsOne() bool { return p != Pin{} }

// pinOf returns the one node that will do: by required affinity on metadata.name, as the pods of a DaemonSet have it, or by a node selector
// on the host name.
func pinOf(spec *corev1.PodSpec) Pin {
	if name := pinnedName(spec.Affinity); name != "" {
		return Pin{Node: name}
	}
	return Pin{Host: spec.NodeSelector[corev1.LabelHostname]}
}

func pinnedName(affinity *corev1.Affinity) string {
	if affinity == nil || affinity.NodeAffinity == nil {
		return ""
	}
	required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return ""
	}
	name := ""
	for _, term := range required.NodeSelectorTerms {
		i := slices.IndexFunc(term.MatchFields, func(f corev1.NodeSelectorRequirement) bool {
			return f.Key == "metadata.name" && f.Operator == corev1.NodeSelectorOpIn && len(f.Values) == 1
		})
		if i < 0 || (name != "" && name != term.MatchFields[i].Values[0]) {
			return ""
		}
		name = term.MatchFields[i].Values[0]
	}
	return name
}
