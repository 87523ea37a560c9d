// Package v1alpha1 is the scheduling.example.com API: PodSequence, an order in which groups of pods start.
//
// +kubebuilder:object:generate=true
// +groupName=scheduling.example.com
package v1alpha1
