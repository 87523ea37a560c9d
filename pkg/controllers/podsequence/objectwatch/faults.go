package objectwatch

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
