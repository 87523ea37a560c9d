package order

import (
	"k8s.io/apimachinery/pkg/labels"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Missing says which sequence a pod waits for because it does not exist. Tools create custom resources last, so a pod may come before
// the sequence that is to order it. A pod that says that it has one waits for it.
type Missing uint8

const (
	// NothingMissing is the zero value: the pod waits only for what the sequences that select it say.
	NothingMissing Missing = iota
	// NamedMissing is the PodSequence that the pod names by v1alpha1.SequenceLabel.
	NamedMissing
	// AnyMissing is any sequence that selects the pod: its namespace requires one, see RequiresSequence.
	AnyMissing
)

// Join holds what decides whether a pod waits for a sequence that does not exist.
type Join struct {
	// Ours reports whether podsequence-scheduler schedules the pod, and Gated whether it carries a gate that PodSequence may lift.
	Ours, Gated bool
	// Named is the name of the PodSequence that the pod is to be ordered by, see NamedSequence; empty if it names none. Exists
	// reports whether the namespace of the pod has it.
	Named  string
	Exists bool
	// Required reports whether the namespace of the pod requires a sequence, and Selected whether some sequence selects the pod.
	Required, Selected bool
	// Unordered reports that the pod is of a hook that no order concerns.
	Unordered bool
}

// Missing returns what the pod waits for. Pods that nobody can hold wait for nothing, nor do those of hooks that no order concerns: whoever
// deletes a release deletes its sequence before he runs the last hooks.
func (j Join) Missing() Missing {
	switch {
	case j.Unordered:
		return NothingMissing
	case j.Named != "" && !j.Exists && (j.Ours || j.Gated):
		return NamedMissing
	case j.Required && !j.Selected && j.Ours:
		return AnyMissing
	}
	return NothingMissing
}

// NamedSequence returns the name of the PodSequence that a pod with these labels is to be ordered by; empty if it names none.
func NamedSequence(podLabels labels.Labels) string { return podLabels.Get(v1alpha1.SequenceLabel) }

// RequiresSequence reports whether a namespace with these annotations requires that some sequence selects a pod before
// podsequence-scheduler schedules it.
func RequiresSequence(annotations map[string]string) bool {
	return annotations[v1alpha1.RequireSequenceAnnotation] == v1alpha1.RequireSequence
}
