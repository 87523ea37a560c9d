package sequence

import (
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
)

// Place is the group that one sequence has for a pod.
type Place struct {
	Sequence types.NamespacedName
	Group    int
	// Governed reports whether the sequence can hold the pod: our scheduler places it, or it carries the gate of the sequence.
	Governed bool
	// Decision says whether this sequence holds the pod, whatever other sequences say.
	Decision report.Decision
}

// WorkloadPart is what one workload adds to a group that selects its pods.
type WorkloadPart struct {
	Kind            inventory.Kind
	Namespace, Name string
	// Expected counts the pods that the group expects of the workload, and Ready those of them that are done.
	Expected, Ready int
	// Short reports that too few of its pods are done, or that a Job is not complete.
	Short bool
	// Unobserved reports that its controller has not seen its newest generation yet.
	Unobserved bool
	// Failure says why a Job failed; empty if it did not.
	Failure string
}

// Object is what is recorded of an object that a group waits for.
type Object = readiness.Object
