// Package v1alpha1 is the batch.example.com API: SequentialJob, steps that run one after another.
//
// +kubebuilder:object:generate=true
// +groupName=batch.example.com
package v1alpha1
