package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultBackoffLimit is how often a step is retried when the spec does not say. Unlike in batch/v1 it is never: people put steps in
// order that may not run twice.
const DefaultBackoffLimit int32 = 0

// MaxSteps is how many containers a SequentialJob may list.
const MaxSteps = 64

// Labels of the Jobs and pods of every step.
const (
	// LabelName has the name of the SequentialJob as its value. A name longer than 59 characters is cut to 43, and
	// '-' and 16 characters that stand for the whole name are put behind: a label's value has room for 63.
	LabelName = "batch.example.com/sequentialjob-name"
	// LabelStepIndex has the 0-based index of the step as its value.
	LabelStepIndex = "batch.example.com/step-index"
)

// LabelRestored is on all objects that Velero restores. A SequentialJob that has it, and no status, starts no step.
const LabelRestored = "velero.io/restore-name"

// AnnotationSuspended is on Jobs that we suspended, and so may resume. Jobs that others suspend are left to them.
const AnnotationSuspended = "batch.example.com/suspended"

// AnnotationDeadline is on Jobs that we gave a deadline, and has its seconds as its value. A deadline that others gave a
// Job is left to them.
const AnnotationDeadline = "batch.example.com/deadline-seconds"

// AnnotationRetry is set on a SequentialJob that has failed to run it again from the step that failed. Any value does that
// it did not have before, such as the time; the first 128 characters count.
const AnnotationRetry = "batch.example.com/retry"

// FormerFinalizer is on SequentialJobs that the operator wrote that had this API first. It removed it when the object was deleted. Ours
// needs no finalizer: podsequence-controller removes this one, or nobody could delete the object.
const FormerFinalizer = "sequentialjob.myapp.example.com/finalizer"

// SequentialJob runs containers one after another, each in a Job of its own.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sjob,categories=podsequence-all
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Step",type=string,JSONPath=`.status.step`,description="The step it is at, of all steps"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
type SequentialJob struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to run.
	// +required
	Spec SequentialJobSpec `json:"spec"`

	// How far the SequentialJob has come. Before the first write observedGeneration is -1, so that no tool takes a new
	// object for a ready one.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status SequentialJobStatus `json:"status,omitempty,omitzero"`
}

// SequentialJobList is a list of SequentialJobs.
//
// +kubebuilder:object:root=true
type SequentialJobList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []SequentialJob `json:"items"`
}

// SequentialJobSpec is what to run.
//
// +kubebuilder:validation:XValidation:rule="has(self.template) == has(oldSelf.template)",message="template is immutable: delete the SequentialJob and create another"
// +kubebuilder:validation:XValidation:rule="!has(self.template) || !has(self.template.spec) || !has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy.size() == 0 || self.template.spec.restartPolicy in ['Never', 'OnFailure']",message="template.spec.restartPolicy must be Never or OnFailure: a step has to end. Defaults to Never"
// +kubebuilder:validation:XValidation:rule="!has(self.template) || !has(self.template.spec) || !has(self.template.spec.containers) || size(self.template.spec.containers) == 0",message="template.spec.containers must be left out: list the steps in spec.containers, and what runs beside each of them in template.spec.initContainers with restartPolicy Always"
// +kubebuilder:validation:XValidation:rule="!has(self.podFailurePolicy) || !has(self.template) || !has(self.template.spec) || !has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy != 'OnFailure'",message="podFailurePolicy must be left out if template.spec.restartPolicy is OnFailure: Jobs support it only with Never"
type SequentialJobSpec struct {
	// The steps, in the order in which they run, 1 to 64. Each step runs in its own Job, in pods with this one
	// container. A step starts when the Job of the step before it is Complete. Every container needs an image and a unique name.
	// Immutable, including the order.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XValidation:rule="has(self.image) && self.image != ''",message="image is required: say what the step runs"
	// +kubebuilder:validation:items:XValidation:rule="!format.dns1123Label().validate(self.name).hasValue()",message="name must be up to 63 lower-case letters, digits and '-', beginning and ending with a letter or digit"
	// +kubebuilder:validation:XValidation:rule="self.all(step, self.exists_one(other, other.name == step.name))",message="names must be unique: give every step its own name"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="containers are immutable: delete the SequentialJob and create another"
	Containers []corev1.Container `json:"containers"`

	// What the pods of all steps have in common: labels, annotations, volumes, service account, node selector,
	// tolerations, init containers and so on. Leave its containers out: the steps are in spec.containers. Its restartPolicy is
	// Never (the default) or OnFailure. Immutable.
	// +optional
	// +structType=atomic
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="template is immutable: delete the SequentialJob and create another"
	Template corev1.PodTemplateSpec `json:"template,omitempty,omitzero"`

	// Stops the running step while it is true, as suspending its Job does, and starts no other step. When it is false
	// again, the step starts from its beginning, and activeDeadlineSeconds counts from zero. Defaults to false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// The number of times that the Job of each step retries before the step fails, and with it the
	// SequentialJob. Set it only if steps may run twice. A step that already runs keeps the limit with which it started. Defaults to
	// 0: the first failure stops the sequence.
	// +optional
	// +default=0
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`

	// Which failed pods count towards backoffLimit, which do not, and which make their step fail at once.
	// A step that already runs keeps the policy with which it started. As in batch/v1, not with restartPolicy OnFailure. Defaults
	// to one rule: pods that are disrupted, for example by a drain or a preemption, do not count.
	// +optional
	PodFailurePolicy *PodFailurePolicy `json:"podFailurePolicy,omitempty"`

	// The longest time that all steps together may take from the start of the first step, in seconds,
	// such as 3600. After that the running step is stopped, and the SequentialJob has failed. Time in which somebody else, such as
	// a queueing system, keeps the Job of a step suspended does not count. Defaults to no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`

	// The time from success or failure until the SequentialJob is deleted, with its Jobs and their
	// pods, in seconds. Defaults to never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}
