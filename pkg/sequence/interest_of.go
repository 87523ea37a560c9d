package sequence

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// Interest says of which namespaces, and of which of their pods, a sequence speaks, as its spec has it.
type Interest struct {
	// Names are the namespaces that it names, whether they exist or not.
	Names    []string
	sequence *spec.Sequence
}

// Identity is as much of a pod as decides, with the labels of its namespace, to which group of a sequence it belongs.
type Identity struct {
	Namespace, Name string
	Labels          labels.Labels
	// Unordered reports that the pod's own annotations make it a hook that no order concerns.
	Unordered bool
}

// IdentityOf returns the identity of a pod. It reads the pod's labels from the object.
func IdentityOf(pod *corev1.Pod) Identity {
	return Identity{
		Namespace: pod.Namespace, Name: pod.Name, Labels: labels.Set(pod.Labels), Unordered: inventory.IsUnorderedHook(pod.Annotations),
	}
}

// InterestOf returns of which namespaces a PodSequence or a ClusterPodSequence speaks. installation is Config.InstallationNamespace.
func InterestOf(stored Stored, installation string) Interest {
	compiled := spec.Compile(stored, nil).InstalledIn(installation)
	interest := Interest{sequence: compiled}
	for name := range compiled.NamedNamespaces() {
		interest.Names = append(interest.Names, name)
	}
	return interest
}

// Selects reports whether the sequence selects a namespace by these labels.
func (i Interest) Selects(namespace string, namespaceLabels map[string]string) bool {
	return i.sequence.SelectsNamespace(namespace, namespaceLabels)
}

// SelectsAny reports whether the sequence selects namespaces by their labels.
func (i Interest) SelectsAny() bool { return i.sequence.SelectsNamespaces() }

// MayHold reports whether the sequence holds the pod if it has not come far enough. exists reports whether the pod's namespace is
// known to exist; its labels count only then.
func (i Interest) MayHold(pod Identity, namespaceLabels map[string]string, exists bool) bool {
	if i.sequence.DryRun {
		return false
	}
	groups := i.sequence.GroupsIn(pod.Namespace, namespaceLabels, exists)
	_, member := i.sequence.GroupOf(pod.Namespace, pod.Name, pod.Labels, pod.Unordered, groups)
	return member
}

// MatchCost returns what it costs to match a pod with the sequence, in labels that are compared.
func (i Interest) MatchCost() int { return i.sequence.MatchCost() }
