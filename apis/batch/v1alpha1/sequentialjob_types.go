package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultBackoffLimit is how often a step is retried when the spec does not say, as in batch/v1.
const DefaultBackoffLimit int32 = 6

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

// AnnotationSuspended is on Jobs that we suspended, and so may resume. Jobs that others suspend are left to them.
const AnnotationSuspended = "batch.example.com/suspended"

// AnnotationDeadline is on Jobs that we gave a deadline, and has its seconds as its value. A deadline that others gave a
// Job is left to them.
const AnnotationDeadline = "batch.example.com/deadline-seconds"

// AnnotationRetry is set on a SequentialJob that has failed to run it again from the step that failed. Any value does that
// it did not have before, such as the time; the first 128 characters count.
const AnnotationRetry = "batch.example.com/retry"

// SequentialJob runs containers one after another, each as a Job of its own.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sjob
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Step",type=string,JSONPath=`.status.step`,description="The step it is at, of all steps"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
type SequentialJob struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what to run.
	// +required
	Spec SequentialJobSpec `json:"spec"`

	// Status is how far it has come.
	// Until then observedGeneration is -1, so that no tool takes a new object for a ready one.
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
// +kubebuilder:validation:XValidation:rule="!has(self.template) || !has(self.template.spec) || !has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy in ['Never', 'OnFailure']",message="template.spec.restartPolicy must be Never or OnFailure: a step has to end. Defaults to Never"
// +kubebuilder:validation:XValidation:rule="!has(self.template) || !has(self.template.spec) || !has(self.template.spec.containers) || size(self.template.spec.containers) == 0",message="template.spec.containers must be left out: list the steps in spec.containers, and what runs beside each of them in template.spec.initContainers with restartPolicy Always"
// +kubebuilder:validation:XValidation:rule="!has(self.podFailurePolicy) || !has(self.template) || !has(self.template.spec) || !has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy != 'OnFailure'",message="podFailurePolicy must be left out where template.spec.restartPolicy is OnFailure: Jobs support it only with Never"
type SequentialJobSpec struct {
	// Containers are the steps in the order they run in, 1 to 64. Each is run by a Job of its own, whose pods have this
	// one container; a step begins when the Job of the step before is Complete. Names are unique, and an image is
	// required. Immutable, their order included.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XValidation:rule="has(self.image) && self.image != ''",message="image is required: say what the step runs"
	// +kubebuilder:validation:items:XValidation:rule="!format.dns1123Label().validate(self.name).hasValue()",message="name must be up to 63 lower-case letters, digits and '-', beginning and ending with a letter or digit"
	// +kubebuilder:validation:XValidation:rule="self.all(step, self.exists_one(other, other.name == step.name))",message="names must be unique: give every step its own name"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="containers are immutable: delete the SequentialJob and create another"
	Containers []corev1.Container `json:"containers"`

	// Template is what the pods of all steps share: labels, annotations, volumes, service account, node selector,
	// tolerations, init containers and so on. It lists no containers: those are the steps. Its restartPolicy is Never
	// (the default) or OnFailure. Immutable.
	// +optional
	// +structType=atomic
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="template is immutable: delete the SequentialJob and create another"
	Template corev1.PodTemplateSpec `json:"template,omitempty,omitzero"`

	// Suspend stops the running step, as suspending its Job does, and starts no other. When it is set back to false, the
	// step starts again, and the time of activeDeadlineSeconds anew. Defaults to false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// BackoffLimit is how often each step's Job retries before the step has failed, and with it the whole. A step that is
	// already running keeps the limit it was started with. Defaults to 6.
	// +optional
	// +default=6
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`

	// PodFailurePolicy says which failed pods count towards backoffLimit, which do not, and which fail their step at once.
	// A step that is already running keeps the policy it was started with. Not with restartPolicy OnFailure, as in
	// batch/v1. Defaults to one rule: pods that were disrupted, by a drain or a preemption for instance, do not count.
	// +optional
	PodFailurePolicy *PodFailurePolicy `json:"podFailurePolicy,omitempty"`

	// ActiveDeadlineSeconds is how long all steps together may take, from the start of the first one. Then the running
	// step is stopped and the whole has failed. Time for which somebody else, such as a queueing system, keeps the Job of
	// a step suspended does not count. Defaults to no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`

	// TTLSecondsAfterFinished is how long after it succeeded or failed it is deleted, with its Jobs and their pods.
	// Defaults to never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}
