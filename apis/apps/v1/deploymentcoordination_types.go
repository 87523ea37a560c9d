package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is written on a Deployment that a coordination paused, and taken off when it is unpaused. A Deployment that is
// paused without PausedByAnnotation was paused by its owner, and stays so. One that is unpaused and has only
// PauseReasonAnnotation was taken out of the order by its owner.
const (
	// PausedByAnnotation names the DeploymentCoordination that paused the Deployment.
	PausedByAnnotation = "apps.containerinfra.nl/paused-by"
	// PauseReasonAnnotation says for people why it did.
	PauseReasonAnnotation = "apps.containerinfra.nl/pause-reason"
	// PauseReason is the value of PauseReasonAnnotation on a Deployment that waits.
	PauseReason = "waits for its turn to roll out"
	// SkipReason is that on one that was skipped.
	SkipReason = "failed to roll out, and is skipped until its pod template changes"
)

// UncoordinatedAnnotation has the time when a Deployment was created or changed and not paused, because
// podsequence-controller had not renewed its Lease for a minute. It stays.
const UncoordinatedAnnotation = "apps.containerinfra.nl/uncoordinated-at"

// Finalizer keeps a DeploymentCoordination until what it paused is unpaused.
const Finalizer = "apps.containerinfra.nl/unpause"

// DeploymentCoordination lets Deployments of its namespace roll out one at a time, in the order in which they were changed. It
// pauses those that wait.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=deploycoord,categories=podsequence-all
// +kubebuilder:validation:XValidation:rule="has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))",optionalOldSelf=true,message="spec is required"
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.activeDeployment`,description="The Deployment that may roll out now"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Degraded",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
type DeploymentCoordination struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which Deployments, and how long to wait between them. It is required, but an object that was stored without it may
	// still be changed and deleted.
	// +optional
	Spec DeploymentCoordinationSpec `json:"spec"`

	// What podsequence-controller last saw and decided. Before the first write observedGeneration is -1, so that no tool
	// takes a new object for a ready one.
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
	// TimeoutSkip pauses the Deployment where it is, until its template changes or its owner takes it out of the order, and
	// goes on with the next.
	TimeoutSkip TimeoutPolicy = "Skip"
)

// DeploymentCoordinationSpec says which Deployments, and how long to wait between them.
type DeploymentCoordinationSpec struct {
	// Selects Deployments of this namespace by their own labels, not by the labels of their pods. {} selects all
	// Deployments of the namespace. An object without it, from before it was required, does nothing.
	// +required
	LabelSelector *LabelSelector `json:"labelSelector"`

	// How long the pods of a Deployment must be ready after its rollout before the next Deployment may roll
	// out, in seconds. Pods that scaling adds after the rollout do not count. Defaults to 0.
	// +optional
	// +default=0
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// The longest time that a Deployment may take from its turn until it has been ready for
	// minReadySeconds, in seconds, such as 900. Another change of its pod template does not extend it. The time does not count
	// while the owner of the Deployment has it paused. Defaults to no limit but progressDeadlineSeconds of the Deployment.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RolloutTimeoutSeconds *int32 `json:"rolloutTimeoutSeconds,omitempty"`

	// What follows, Halt or Skip, when a rollout exceeds rolloutTimeoutSeconds or the progressDeadlineSeconds of the
	// Deployment. Halt: no other Deployment rolls out until this one is fixed or ready. Skip: the Deployment is paused where it
	// is, and the next one rolls out. Defaults to Halt.
	// +optional
	// +default="Halt"
	OnTimeout TimeoutPolicy `json:"onTimeout,omitempty"`
}
