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
	// ObservedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// ActiveDeployment is the Deployment that may roll out now, as namespace/name. Empty if none may.
	// +optional
	ActiveDeployment string `json:"activeDeployment,omitempty"`

	// ActiveSince is since when the time-out of the active Deployment counts: since its turn, or since its owner unpaused it.
	// Absent while its owner has it paused, for then the time-out does not count.
	// +optional
	ActiveSince *metav1.Time `json:"activeSince,omitempty"`

	// Deployments are the Deployments that the selector matches, as namespace/name, sorted. At most 1,000 are listed, the
	// active one and those with changes to roll out first, and besides at most 10 that another DeploymentCoordination, which
	// matches them too, pauses and unpauses.
	// +optional
	// +listType=atomic
	Deployments []string `json:"deployments,omitempty"`

	// UnlistedDeployments is how many Deployments the selector matches besides those that Deployments lists.
	// +optional
	UnlistedDeployments int32 `json:"unlistedDeployments,omitempty"`

	// DeploymentStates has a record for each of Deployments, in the same order, except for those that another
	// DeploymentCoordination pauses and unpauses: that one has their records.
	// +optional
	// +listType=atomic
	DeploymentStates []DeploymentState `json:"deploymentStates,omitempty"`

	// Conditions are Ready, Progressing and Degraded; Reconciling and Stalled only while they are true.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeploymentState is the record of one Deployment.
type DeploymentState struct {
	// Name is the Deployment, as namespace/name.
	Name string `json:"name"`

	// UID is the Deployment's: one that is deleted and made again under the same name is another. Absent in what another
	// operator of this API has written, which then says nothing of the Deployment.
	// +optional
	UID types.UID `json:"uid"`

	// HasPendingChanges reports whether the Deployment has yet to roll out its pod template in full.
	// +optional
	HasPendingChanges bool `json:"hasPendingChanges"`

	// Generation is the generation that the Deployment had when this status was written. It alone, which scaling changes
	// too, is no cause to write it again.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// TemplateHash stands for the pod template that HasPendingChanges speaks of.
	// +optional
	TemplateHash string `json:"templateHash,omitempty"`

	// Paused reports whether the Deployment is held paused by this coordination.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// PendingSince is when the present changes were first seen; absent while there are none.
	// +optional
	PendingSince *metav1.MicroTime `json:"pendingSince,omitempty"`

	// LastRolloutStarted is when the Deployment last became active with a new pod template.
	// +optional
	LastRolloutStarted *metav1.Time `json:"lastRolloutStarted,omitempty"`

	// LastRolloutFinished is when a rollout of the Deployment was last complete.
	// +optional
	LastRolloutFinished *metav1.Time `json:"lastRolloutFinished,omitempty"`

	// RolloutReplicas is how many pods the Deployment was to have when its last rollout was complete. So many must have been
	// ready for minReadySeconds: scaling afterwards is no rollout.
	// +optional
	RolloutReplicas *int32 `json:"rolloutReplicas,omitempty"`

	// HeldBy is the PodSequence, as namespace/name, that would hold new pods of the Deployment until something else has
	// happened. Empty if none would, or if the Deployment has no pending changes. Such a Deployment lets others go first.
	// +optional
	HeldBy string `json:"heldBy,omitempty"`

	// Skipped says why the Deployment is passed over until its pod template changes or somebody unpauses it:
	// RolloutTimedOut or ProgressDeadlineExceeded.
	// +optional
	Skipped string `json:"skipped,omitempty"`

	// Resumed reports whether somebody else has unpaused the Deployment out of its turn. It rolls out beside the active one,
	// and no other may start before it has.
	// +optional
	Resumed bool `json:"resumed,omitempty"`

	// Refused is PauseFailed or UnpauseFailed while the API server refuses to have the Deployment paused or unpaused. It is
	// tried again. The condition Degraded has the API server's answer.
	// +optional
	Refused string `json:"refused,omitempty"`
}
