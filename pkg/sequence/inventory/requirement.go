package inventory

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// NodeRequirement is the part of a pod's spec that says which nodes suit it, what it takes there, and when it is its turn.
type NodeRequirement struct {
	NodeSelector map[string]string
	Affinity     *corev1.Affinity
	Tolerations  []corev1.Toleration
	Requests     Resources
	Priority     int32
}

// Equal reports whether both say the same; either may be nil.
func (w *NodeRequirement) Equal(other *NodeRequirement) bool {
	if w == nil || other == nil {
		return w == other
	}
	return maps.Equal(w.NodeSelector, other.NodeSelector) && equality.Semantic.DeepEqual(w.Affinity, other.Affinity) &&
		equality.Semantic.DeepEqual(w.Tolerations, other.Tolerations) && w.Requests.Equal(other.Requests) && w.Priority == other.Priority
}

// Key is the same for pods that ask the same of a node, whatever its resources.
func (w *NodeRequirement) Key() string {
	var required *corev1.NodeSelector
	if w.Affinity != nil && w.Affinity.NodeAffinity != nil {
		required = w.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	text, err := json.Marshal([]any{w.NodeSelector, required, w.Tolerations})
	if err != nil {
		panic(fmt.Sprintf("marshalling a pod's own fields cannot fail: %v", err))
	}
	return string(text)
}

// Pin is the one node, or the one host name, that a pod asks for.
type Pin struct{ Node, Host string }

// Pin returns the one node that will do: by required affinity on metadata.name, as the pods of a DaemonSet have it, or by a
// node selector on the host name. It is nil if others will do, too.
func (w *NodeRequirement) Pin() *Pin {
	if name := w.pinnedName(); name != "" {
		return &Pin{Node: name}
	}
	if host := w.NodeSelector[corev1.LabelHostname]; host != "" {
		return &Pin{Host: host}
	}
	return nil
}

func (w *NodeRequirement) pinnedName() string {
	if w.Affinity == nil || w.Affinity.NodeAffinity == nil {
		return ""
	}
	required := w.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
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
