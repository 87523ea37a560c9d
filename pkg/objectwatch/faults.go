package objectwatch

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// AggregationLabel is on the ClusterRoles that say what the controller may read.
const AggregationLabel = "podsequence.example.com/aggregate-to-controller"

// fault is why the objects of a place cannot be read.
type fault int

const (
	noFault    fault = iota
	notServed        // there is no such kind
	noWatch          // the kind cannot be listed or watched at all
	forbidden        // the controller may not read it
	wrongScope       // the reference has a namespace that the kind has not, or lacks one
)

// explain says in words why the objects cannot be read, and what a person can do about it.
func (w *watch) explain(sequence types.NamespacedName) string {
	name := w.kind.Kind
	switch w.fault {
	case notServed:
		return fmt.Sprintf("the kind %s is not installed in version %s", name, w.kind.GroupVersion())
	case noWatch:
		return fmt.Sprintf("objects of the kind %s of %s can be neither listed nor watched", name, w.kind.GroupVersion())
	case forbidden:
		return fmt.Sprintf("podsequence-controller may not read %[1]s; create a ClusterRole with the label %[2]s: \"true\" and the rule "+
			"apiGroups: [%[3]q], resources: [%[4]q], verbs: [get, list, watch]",
			w.served.resource.GroupResource(), AggregationLabel, w.served.resource.Group, w.served.resource.Resource)
	case wrongScope:
		switch {
		case w.namespace == "":
			return fmt.Sprintf("the kind %s has namespaces; say in which the object is", name)
		case sequence.Namespace != "":
			return fmt.Sprintf("only a ClusterPodSequence may wait for cluster-scoped objects, such as a %s", name)
		default:
			return fmt.Sprintf("the kind %s is cluster-scoped; remove the namespace from the reference", name)
		}
	}
	return ""
}

// noRoom says that the sequences of a namespace wait for objects of too many kinds.
func noRoom(namespace string) string {
	if namespace == "" {
		return fmt.Sprintf("ClusterPodSequences already wait for objects of %d kinds and namespaces, which is the limit", MaxWatchesOfCluster)
	}
	return fmt.Sprintf("the PodSequences of this namespace already wait for objects of %d kinds, which is the limit", MaxKindsPerNamespace)
}

// notSeen says that an object has not been read yet.
func notSeen(trouble string) string {
	if trouble == "" {
		return "podsequence-controller has not read it yet"
	}
	return "podsequence-controller could not read it yet: " + trouble
}
