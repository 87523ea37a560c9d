package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Condition types of a DeploymentCoordination.
const (
	ConditionReady       = "Ready"       // every Deployment has rolled out
	ConditionProgressing = "Progressing" // a Deployment is rolling out
	ConditionDegraded    = "Degraded"    // something keeps Deployments from rolling out one at a time
)

// Condition types by which tools that know nothing of this kind, such as kstatus, tell how it is. They are there only while
// they are true.
const (
	ConditionReconciling = "Reconciling" // Deployments have changes to roll out, and will do so by themselves
	ConditionStalled     = "Stalled"     // Deployments have changes to roll out, and will not do so unless somebody acts
)

// Reasons of conditions.
const (
	ReasonDeploymentsInProgress    = "DeploymentsInProgress"
	ReasonDeploymentRollingOut     = "DeploymentRollingOut"
	ReasonWaiting                  = "Waiting"
	ReasonRolledOut                = "RolledOut"
	ReasonOverlappingCoordination  = "OverlappingCoordination"
	ReasonRolloutTimedOut          = "RolloutTimedOut"
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	ReasonPauseFailed              = "PauseFailed"
	ReasonUnpauseFailed            = "UnpauseFailed"
	ReasonPauseReverted            = "PauseReverted"
	ReasonPausedByOwner            = "PausedByOwner"
	ReasonInvalidSelector          = "InvalidSelector"
	ReasonTooManyCoordinations     = "TooManyCoordinations"
	ReasonHeldByPodSequence        = "HeldByPodSequence"
	ReasonAsExpected               = "AsExpected"
)

// Reasons of events that no condition has.
const (
	EventDeploymentActivated     = "DeploymentActivated"
	EventDeploymentPaused        = "DeploymentPaused"
	EventDeploymentUnpaused      = "DeploymentUnpaused"
	EventActiveDeploymentReady   = "ActiveDeploymentReady"
	EventActiveDeploymentCleared = "ActiveDeploymentCleared"
	EventActiveDeploymentChanged = "ActiveDeploymentChanged"
)

// DeploymentCoordinationStatus is what podsequence-controller last saw and decided.
type DeploymentCoordinationStatus struct {
	// The generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The Deployment that may roll out now, as namespace/name. Empty if none may.
	// +optional
	ActiveDeployment string `json:"activeDeployment,omitempty"`

	// When rolloutTimeoutSeconds began to count for the active Deployment: when it became active, or when its owner
	// unpaused it. Absent while its owner has it paused.
	// +optional
	ActiveSince *metav1.Time `json:"activeSince,omitempty"`

	// The Deployments that the selector matches, as namespace/name, sorted. At most 1,000 are listed: the active
	// one and those with changes to roll out before others. In addition, at most 10 are listed that another
	// DeploymentCoordination matches too, and pauses and unpauses.
	// +optional
	// +listType=atomic
	Deployments []string `json:"deployments,omitempty"`

	// The number of matching Deployments that deployments does not list.
	// +optional
	UnlistedDeployments int32 `json:"unlistedDeployments,omitempty"`

	// The states of the listed Deployments, in the same order. Those that another DeploymentCoordination
	// pauses and unpauses are in its status instead.
	// +optional
	// +listType=atomic
	DeploymentStates []DeploymentState `json:"deploymentStates,omitempty"`

	// The conditions Ready, Progressing and Degraded; Reconciling and Stalled only while they are true.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeploymentState is the record of one Deployment.
type DeploymentState struct {
	// The Deployment, as namespace/name.
	Name string `json:"name"`

	// The UID of the Deployment: a Deployment that is deleted and created again under the same name is another one. Absent
	// if another operator of this API wrote the record; the record is then ignored.
	// +optional
	UID types.UID `json:"uid"`

	// True while the Deployment has not fully rolled out its pod template.
	// +optional
	HasPendingChanges bool `json:"hasPendingChanges"`

	// The generation of the Deployment when this status was written. It may be old: a new generation alone, such as
	// after scaling, does not cause a write.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// Stands for the pod template that hasPendingChanges describes.
	// +optional
	TemplateHash string `json:"templateHash,omitempty"`

	// Stands for the pod template that was last rolled out completely. A change that is taken back to it is no change.
	// +optional
	RolledOutTemplateHash string `json:"rolledOutTemplateHash,omitempty"`

	// True while this DeploymentCoordination keeps the Deployment paused.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// When the pending changes were first seen. Absent while there are none.
	// +optional
	PendingSince *metav1.MicroTime `json:"pendingSince,omitempty"`

	// When the Deployment last became active with a new pod template.
	// +optional
	LastRolloutStarted *metav1.Time `json:"lastRolloutStarted,omitempty"`

	// When the last rollout of the Deployment was complete.
	// +optional
	LastRolloutFinished *metav1.Time `json:"lastRolloutFinished,omitempty"`

	// The number of pods that the Deployment wanted when its last rollout was complete. That many must be ready
	// for minReadySeconds; pods that scaling adds later do not count.
	// +optional
	RolloutReplicas *int32 `json:"rolloutReplicas,omitempty"`

	// The PodSequence, as namespace/name, that would hold new pods of the Deployment now. Other Deployments then roll
	// out first. Empty if no PodSequence would, or if the Deployment has no pending changes.
	// +optional
	HeldBy string `json:"heldBy,omitempty"`

	// RolloutTimedOut or ProgressDeadlineExceeded if the Deployment failed to roll out and is skipped. It is skipped
	// until its pod template changes or its owner takes it out of the order.
	// +optional
	Skipped string `json:"skipped,omitempty"`

	// True if the owner of the Deployment took it out of the order before its turn: the annotation
	// apps.containerinfra.nl/paused-by was removed, and the Deployment unpaused. It rolls out at the same time as the active one,
	// and no other Deployment starts before it has rolled out.
	// +optional
	Resumed bool `json:"resumed,omitempty"`

	// PauseFailed or UnpauseFailed while the API server refuses to pause or unpause the Deployment. The controller
	// retries. The message of the condition Degraded has the answer of the API server.
	// +optional
	Refused string `json:"refused,omitempty"`
}
