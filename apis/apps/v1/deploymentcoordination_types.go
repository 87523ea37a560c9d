package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is written on a Deployment that a coordination paused, and taken off when it is unpaused. A Deployment that is
// paused without PausedByAnnotation was paused by its owner, and stays so.
const (
	// PausedByAnnotation names the DeploymentCoordination that paused the Deployment.
	PausedByAnnotation = "apps.containerinfra.nl/paused-by"
	// PauseReasonAnnotation says for people why it did.
	PauseReasonAnnotation = "apps.containerinfra.nl/pause-reason"
	// PauseReason is the value of PauseReasonAnnotation.
	PauseReason = "waits for its turn to roll out"
)

// Finalizer keeps a DeploymentCoordination until what it paused is unpaused.
const Finalizer = "apps.containerinfra.nl/unpause"

// DeploymentCoordination has Deployments of its namespace roll out one at a time, in the order in which they were changed.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.activeDeployment`,description="The Deployment that may roll out now"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DeploymentCoordination struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says which Deployments, and how long to wait between them.
	// +required
	Spec DeploymentCoordinationSpec `json:"spec"`

	// Status is what podsequence-controller last saw and decided.
	// Until then observedGeneration is -1, so that no tool takes a new object for a ready one.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status DeploymentCoordinationStatus `json:"status,omitempty,omitzero"`
}

// DeploymentCoordinationList is a list of DeploymentCoordinations.
//
// +kubebuilder:object:root=true
type DeploymentCoordinationList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DeploymentCoordination `json:"items"`
}

// TimeoutPolicy says what becomes of a rollout that has failed or takes too long.
//
// +kubebuilder:validation:Enum=Halt;Skip
type TimeoutPolicy string

// The policies.
const (
	// TimeoutHalt keeps the Deployment active: nothing else rolls out until it is fixed or, late, ready.
	TimeoutHalt TimeoutPolicy = "Halt"
	// TimeoutSkip pauses the Deployment where it is, until its template changes or somebody unpauses it, and goes on with
	// the next.
	TimeoutSkip TimeoutPolicy = "Skip"
)

// DeploymentCoordinationSpec says which Deployments, and how long to wait between them.
type DeploymentCoordinationSpec struct {
	// LabelSelector selects Deployments of the object's namespace by their own labels, not those of their pods.
	// {} selects all of them.
	// +required
	LabelSelector LabelSelector `json:"labelSelector"`

	// MinReadySeconds is for how many seconds the pods of a Deployment that has rolled out must have been ready before the
	// next may roll out. Pods that scaling adds after the rollout do not count. Defaults to 0.
	// +optional
	// +default=0
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// RolloutTimeoutSeconds is how many seconds a Deployment may take from its turn until it has been ready for
	// MinReadySeconds. Changes of its template do not prolong that; it does not count while the Deployment's owner has it
	// paused. By default nothing but the Deployment's own progressDeadlineSeconds limits it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RolloutTimeoutSeconds *int32 `json:"rolloutTimeoutSeconds,omitempty"`

	// OnTimeout says what happens when a rollout takes longer than RolloutTimeoutSeconds, or exceeds the Deployment's
	// own progressDeadlineSeconds: Halt or Skip. Defaults to Halt.
	// +optional
	// +default="Halt"
	OnTimeout TimeoutPolicy `json:"onTimeout,omitempty"`
}
