package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultSchedulingGateName is the gate a sequence lifts when its spec names none.
const DefaultSchedulingGateName = "podsequence.example.com/sequence-gate"

// PodSequence holds groups of pods back until the groups listed before theirs are ready.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=podseq
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Scope",type=string,JSONPath=`.spec.scope`
// +kubebuilder:printcolumn:name="Current",type=string,JSONPath=`.status.currentGroup`,description="The first group not yet passed"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.readyPods`,description="Ready of expected pods in the current group"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
type PodSequence struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the order asked for.
	// +required
	Spec PodSequenceSpec `json:"spec"`

	// Status is what podsequence-controller last saw. Only passes recorded in groups are ever read back.
	// +optional
	Status PodSequenceStatus `json:"status,omitempty,omitzero"`
}

// PodSequenceList is a list of PodSequences.
//
// +kubebuilder:object:root=true
type PodSequenceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PodSequence `json:"items"`
}

// Scope says over what an order holds.
//
// +kubebuilder:validation:Enum=Cluster
type Scope string

// ScopeCluster orders the groups across the whole cluster.
const ScopeCluster Scope = "Cluster"

// PodSequenceSpec is the order asked for.
type PodSequenceSpec struct {
	// PodGroups are the groups in start order, 1 to 64. A pod belongs to the first group that names or selects it.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	PodGroups []PodGroup `json:"podGroups"`

	// Scope says over what the order holds. Defaults to Cluster: across the whole cluster.
	// +optional
	// +default="Cluster"
	Scope Scope `json:"scope,omitempty"`

	// Namespace is where the pods live. Defaults to the namespace of the PodSequence.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="must be the name of a namespace: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`

	// SchedulingGateName is the scheduling gate that this sequence lifts from its pods when their turn comes.
	// Only prefixes that the operator of the cluster allows are ever lifted.
	// Defaults to podsequence.example.com/sequence-gate.
	// +optional
	// +default="podsequence.example.com/sequence-gate"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be a qualified name such as podsequence.example.com/sequence-gate: an optional DNS prefix and '/', then up to 63 letters, digits, '-', '_' or '.'"
	SchedulingGateName string `json:"schedulingGateName,omitempty"`
}

// PodGroup is a set of pods that start together. Exactly one of Pods and PodSelector says which pods.
//
// +kubebuilder:validation:XValidation:rule="has(self.pods) != has(self.podSelector)",message="set exactly one of pods and podSelector: name the members in pods, or select them by label with podSelector"
type PodGroup struct {
	// Name is for people: messages and events tell it. Up to 63 characters. Defaults to "Group <n>" in messages, n from 1.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// Pods are the members by name, 1 to 256 names. Every one is expected: a pod that does not exist is not ready.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Pods []string `json:"pods,omitempty"`

	// PodSelector selects the members by label. {} selects every pod of the namespace that no earlier group has.
	// +optional
	PodSelector *LabelSelector `json:"podSelector,omitempty"`
}

// LabelSelector has the JSON of meta/v1 LabelSelector, with the bounds that let the API server check it.
// All requirements must hold; {} selects everything.
//
// +structType=atomic
type LabelSelector struct {
	// MatchLabels are labels a pod must carry with these values, up to 32.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.size() <= 317 && !format.qualifiedName().validate(key).hasValue())",message="every key must be a label key: an optional DNS prefix and '/', then up to 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.labelValue().validate(self[key]).hasValue())",message="every value must be a label value: up to 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// MatchExpressions are further requirements, up to 32.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// LabelSelectorRequirement is one requirement on one label.
//
// +kubebuilder:validation:XValidation:rule="self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",message="values must be non-empty for the operators In and NotIn, and absent for Exists and DoesNotExist"
type LabelSelectorRequirement struct {
	// Key is the label key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be a label key: an optional DNS prefix and '/', then up to 63 letters, digits, '-', '_' or '.'"
	Key string `json:"key"`

	// Operator is In, NotIn, Exists or DoesNotExist.
	// +required
	Operator LabelSelectorOperator `json:"operator"`

	// Values are compared with the label's value; for In and NotIn only, up to 64.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Values []LabelValue `json:"values,omitempty"`
}

// LabelSelectorOperator relates a label to values.
//
// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
type LabelSelectorOperator string

// The operators of meta/v1 LabelSelector.
const (
	LabelSelectorOpIn           LabelSelectorOperator = "In"
	LabelSelectorOpNotIn        LabelSelectorOperator = "NotIn"
	LabelSelectorOpExists       LabelSelectorOperator = "Exists"
	LabelSelectorOpDoesNotExist LabelSelectorOperator = "DoesNotExist"
)
