package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What ObjectReference.Until may be, beside the type of a condition.
const (
	UntilCurrent = "Current" // the object does what its spec says, as kstatus has it
	UntilExists  = "Exists"  // the object exists
)

// ObjectReference names an object that a group waits for.
type ObjectReference struct {
	// The group and version of the object, such as cert-manager.io/v1, or v1 for the core group.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?$')`,message="must be a group and a version, such as cert-manager.io/v1, or v1 for the core group"
	APIVersion string `json:"apiVersion"`

	// The kind of the object, such as Certificate.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z][-A-Za-z0-9]*$')`,message="must be a kind, such as Certificate"
	Kind string `json:"kind"`

	// The namespace of the object. Only in a ClusterPodSequence; absent for kinds without a namespace. A PodSequence waits for
	// objects of its own namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Label().validate(self).hasValue()",message="must be the name of a namespace: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`

	// The name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self != '.' && self != '..' && !self.matches(r'[/%\s]')`,message="must be the name of an object: without '/', '%' and spaces"
	Name string `json:"name"`

	// What the object must reach. Current: it does what its spec says, in the sense of kstatus: it is up to date, and its conditions
	// say nothing else. Exists: it exists. Anything else is the type of a condition in status.conditions that must be True, such as
	// Ready or Established. Defaults to Current.
	// +optional
	// +default="Current"
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.qualifiedName().validate(self).hasValue()",message="must be Current, Exists, or the type of a condition such as Ready"
	Until string `json:"until,omitempty"`
}

// ObjectState says how an object stands to what a group waits for.
//
// +kubebuilder:validation:Enum=Satisfied;Waiting;NotFound;NotReadable
type ObjectState string

// How an object may stand.
const (
	ObjectSatisfied   ObjectState = "Satisfied"   // it is as the group requires
	ObjectWaiting     ObjectState = "Waiting"     // it exists, and is not as the group requires
	ObjectNotFound    ObjectState = "NotFound"    // it does not exist
	ObjectNotReadable ObjectState = "NotReadable" // its kind is not served, or podsequence-controller may not read it
)

// ObjectStatus is what podsequence-controller last saw of an object that a group waits for. Both programs decide by it.
type ObjectStatus struct {
	// The group and version that the spec names.
	APIVersion string `json:"apiVersion"`

	// The kind that the spec names.
	Kind string `json:"kind"`

	// The namespace of the object. Absent for kinds without a namespace, and in a PodSequence, whose own namespace it is.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// The name of the object.
	Name string `json:"name"`

	// What the object must reach.
	// +optional
	Until string `json:"until,omitempty"`

	// The UID of the object, which tells it from a successor with the same name. Absent while it does not exist or cannot be read.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// The generation of the object that was judged.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// Satisfied, Waiting, NotFound or NotReadable.
	State ObjectState `json:"state"`

	// The time from which the object has been Satisfied: the last transition of its condition, or when the controller first saw it so.
	// Absent while it is not.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// What the object lacks, if possible in its own words. Absent once it is Satisfied.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// WhenAbsent says what counts while a node has no condition of the type.
//
// +kubebuilder:validation:Enum=Wait;Pass
type WhenAbsent string

// What may count while a node has no such condition.
const (
	AbsentWait WhenAbsent = "Wait" // the requirement does not hold
	AbsentPass WhenAbsent = "Pass" // the requirement holds
)

// NodeConditionRequirement is a condition that a node must have.
type NodeConditionRequirement struct {
	// The type of the condition, such as example.com/GPUHealthy.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be the type of a node condition, such as example.com/GPUHealthy: an optional DNS prefix and '/', then up to 63 letters, digits, '-', '_' or '.'"
	Type string `json:"type"`

	// The status that the condition must have: True, False or Unknown. Defaults to True.
	// +optional
	// +default="True"
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status metav1.ConditionStatus `json:"status,omitempty"`

	// What counts while the node has no such condition. Wait: the group is not ready there. Pass: the requirement holds. Defaults to
	// Wait.
	// +optional
	// +default="Wait"
	WhenAbsent WhenAbsent `json:"whenAbsent,omitempty"`
}
