package objectwatch

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/controllers/podsequence/objects"
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

// inWords returns what an error says; if the API server says it, in its words alone.
func inWords(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Message != "" {
		return objects.Line(status.Status().Message)
	}
	return objects.Line(err.Error())
}

// notSeen says what keeps an object from being read; it is empty if nothing is known to.
func notSeen(trouble string) string {
	if trouble == "" {
		return ""
	}
	return "podsequence-controller could not read it yet: " + trouble
}
