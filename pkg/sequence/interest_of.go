package sequence

import (
	"k8s.io/apimachinery/pkg/labels"

	"example.com/podsequence/pkg/sequence/spec"
)

// Interest says of which namespaces a sequence speaks, as its spec has it.
type Interest struct {
	// Names are the namespaces that it names, whether they exist or not.
	Names []string
	// Selectors select further ones by their labels.
	selectors []labels.Selector
}

// InterestOf returns of which namespaces a PodSequence or a ClusterPodSequence speaks.
func InterestOf(stored Stored) Interest {
	compiled := spec.Compile(stored, nil)
	interest := Interest{selectors: compiled.NamespaceSelectors()}
	for name := range compiled.NamedNamespaces() {
		interest.Names = append(interest.Names, name)
	}
	return interest
}

// Selects reports whether the sequence speaks of a namespace with these labels, whatever its name.
func (i Interest) Selects(namespaceLabels map[string]string) bool {
	for _, selector := range i.selectors {
		if selector.Matches(labels.Set(namespaceLabels)) {
			return true
		}
	}
	return false
}

// SelectsAny reports whether the sequence selects namespaces by their labels.
func (i Interest) SelectsAny() bool { return len(i.selectors) > 0 }
