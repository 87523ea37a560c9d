package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Phase sums a SequentialJob up in one word.
//
// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed;Suspended
type Phase string

// The phases of a SequentialJob.
const (
	PhasePending   Phase = "Pending"   // the step it is at has no Job yet, no pod that runs, or somebody else keeps its Job suspended
	PhaseRunning   Phase = "Running"   // the Job of the step it is at may have pods that run
	PhaseSucceeded Phase = "Succeeded" // every step is completed
	PhaseFailed    Phase = "Failed"    // no further step will run, and no pod of a step works
	PhaseSuspended Phase = "Suspended" // spec.suspend is true, and no pod of a step works
)

// Condition types of a SequentialJob. Complete, Failed and Suspended are those of a Job in batch/v1.
const (
	ConditionComplete    = "Complete"    // every step is completed
	ConditionAvailable   = "Available"   // the same
	ConditionProgressing = "Progressing" // there are steps to run, and nothing keeps them from it
	ConditionFailed      = "Failed"      // no further step will run
	ConditionSuspended   = "Suspended"   // no step runs, because spec.suspend is true
)

// Condition types by which tools that know nothing of this kind, such as kstatus, tell how it is. Reconciling and Stalled
// are there only while they are true.
const (
	ConditionReady       = "Ready"       // the same as Complete
	ConditionReconciling = "Reconciling" // the same as Progressing
	ConditionStalled     = "Stalled"     // the same as Failed
)

// Reasons of conditions. Those of failures are also in progress.failureReason, but for ReasonJobFailed, where the Job's
// own reason is, such as BackoffLimitExceeded.
const (
	ReasonCompleted = "Completed" // every step is completed
	// ReasonCompletionsReached says the same of Complete, as in batch/v1.
	ReasonCompletionsReached = "CompletionsReached"
	ReasonSuspended          = "Suspended"  // spec.suspend is true
	ReasonAsExpected         = "AsExpected" // nothing is wrong

	ReasonStepsRemaining  = "StepsRemaining"   // not every step is completed
	ReasonJobStarted      = "JobStarted"       // the Job of the first step runs
	ReasonJobCompleted    = "JobCompleted"     // the Job of a step has completed, and that of the next runs
	ReasonPodPending      = "PodPending"       // the Job of the step has no pod that runs
	ReasonJobSuspended    = "JobSuspended"     // somebody else, such as a queueing system, suspended the step's Job
	ReasonRestored        = "Restored"         // a backup tool restored it, and nothing says which steps were completed
	ReasonRetry           = "Retry"            // the step that failed is about to run again
	ReasonWaitingForOld   = "WaitingForOldJob" // a Job of the step's name is still being deleted
	ReasonJobCreateFailed = "JobCreateFailed"  // the API server refuses the step's Job for now, by a quota for instance
	ReasonJobUpdateFailed = "JobUpdateFailed"  // the API server refuses for now to have the step's Job changed or deleted

	ReasonJobFailed        = "JobFailed"        // the Job of a step has failed
	ReasonJobDeleted       = "JobDeleted"       // somebody deleted the Job of the running step
	ReasonJobNameConflict  = "JobNameConflict"  // somebody else's Job has the name that a step's Job must have
	ReasonDeadlineExceeded = "DeadlineExceeded" // spec.activeDeadlineSeconds are over
	ReasonInvalidSpec      = "InvalidSpec"      // the spec cannot be run
)

// Reasons of events. A failure for another reason than a step's Job has that reason.
const (
	EventJobStarted   = "JobStarted"
	EventJobCompleted = "JobCompleted"
	EventJobFailed    = "JobFailed"
	EventRetry        = "Retry"        // the step that failed is about to run again
	EventJobDiscarded = "JobDiscarded" // a Job is deleted that somebody else resumed, and its step runs again later
)

// SequentialJobStatus is how far a SequentialJob has come.
type SequentialJobStatus struct {
	// The generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Where the SequentialJob stands: Pending, Running, Succeeded, Failed or Suspended.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// The current step for kubectl get: "2/3" is the second of three.
	// +optional
	Step string `json:"step,omitempty"`

	// How many Jobs of the steps are active, succeeded and failed.
	// +optional
	State SequentialJobState `json:"state,omitempty,omitzero"`

	// Which steps are completed, and which one failed.
	// +optional
	Progress SequentialJobProgress `json:"progress,omitempty,omitzero"`

	// When the SequentialJob started, or was last resumed. Absent while it is suspended, and while somebody else,
	// such as a queueing system, keeps the Job of the step suspended.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// The part of activeDeadlineSeconds that was over at startTime, in seconds: the time until somebody else
	// suspended the Job of a step.
	// +optional
	UsedSeconds int64 `json:"usedSeconds,omitempty"`

	// When the SequentialJob succeeded or failed. ttlSecondsAfterFinished counts from then.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// The last value of the annotation batch.example.com/retry that the controller has seen. A different value, set after
	// a failure, runs the failed step again.
	// +optional
	Retry string `json:"retry,omitempty"`

	// Says in one line how far the SequentialJob is, or why it failed, such as: step 2/3 "load" runs in Job etl-1.
	// +optional
	Message string `json:"message,omitempty"`

	// The conditions Complete, Available, Ready, Progressing, Failed and Suspended; Reconciling and Stalled only while they are true.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SequentialJobState counts the Jobs of the steps.
type SequentialJobState struct {
	// It is 1 while the Job of a step exists and has not finished, even if it is suspended.
	// +optional
	Active int32 `json:"active"`

	// The number of completed steps.
	// +optional
	Succeeded int32 `json:"succeeded"`

	// It is 1 if a step failed.
	// +optional
	Failed int32 `json:"failed"`
}

// SequentialJobProgress says which steps are completed, and which one failed, by their 0-based index.
type SequentialJobProgress struct {
	// The 0-based index of the first step that is not completed; the number of steps if all are.
	// +optional
	CurrentIndex *int32 `json:"currentIndex,omitempty"`

	// The 0-based indices of the completed steps. They never run again, even if their Jobs are deleted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	CompletedIndices []int32 `json:"completedIndices,omitempty"`

	// The UID of a Job of the current step that the controller deletes, because the step will run again in a new
	// Job.
	// +optional
	DiscardedJob types.UID `json:"discardedJob,omitempty"`

	// The 0-based index of the step that failed, or that could not run.
	// +optional
	FailedIndex *int32 `json:"failedIndex,omitempty"`

	// Why the step failed: the reason of its Job, such as BackoffLimitExceeded; or JobDeleted, JobNameConflict,
	// DeadlineExceeded or InvalidSpec.
	// +optional
	FailureReason string `json:"failureReason,omitempty"`
}
