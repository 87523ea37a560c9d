package v1alpha1

// PodFailurePolicy has the JSON of batch/v1 PodFailurePolicy, with the bounds that let the API server check it, and
// without what only Indexed Jobs have.
type PodFailurePolicy struct {
	// The rules, tried in order, up to 20: the first rule that matches a failed pod decides. A pod that matches no rule counts
	// towards backoffLimit.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Rules []PodFailurePolicyRule `json:"rules"`
}

// PodFailurePolicyRule says what to do about a pod that failed in one way.
//
// +kubebuilder:validation:XValidation:rule="has(self.onExitCodes) != (has(self.onPodConditions) && size(self.onPodConditions) > 0)",message="exactly one of onExitCodes and onPodConditions is required: say how the pod failed"
type PodFailurePolicyRule struct {
	// What follows for a pod that matches: FailJob (the step fails at once), Ignore (the pod is replaced and does not count towards
	// backoffLimit) or Count (it counts, as without a rule).
	// +required
	Action PodFailurePolicyAction `json:"action"`

	// Matches a pod by the exit code of a container.
	// +optional
	OnExitCodes *PodFailurePolicyOnExitCodes `json:"onExitCodes,omitempty"`

	// Matches a pod that has one of these conditions, up to 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	OnPodConditions []PodFailurePolicyOnPodCondition `json:"onPodConditions,omitempty"`
}

// PodFailurePolicyAction is what is done about a failed pod.
//
// +kubebuilder:validation:Enum=FailJob;Ignore;Count
type PodFailurePolicyAction string

// The actions on a failed pod.
const (
	PodFailurePolicyFailJob PodFailurePolicyAction = "FailJob"
	PodFailurePolicyIgnore  PodFailurePolicyAction = "Ignore"
	PodFailurePolicyCount   PodFailurePolicyAction = "Count"
)

// PodFailurePolicyOnExitCodes matches exit codes other than 0.
//
// +kubebuilder:validation:XValidation:rule="self.operator != 'In' || !(0 in self.values)",message="values must not contain 0 for the operator In: a container that exits with 0 has not failed"
type PodFailurePolicyOnExitCodes struct {
	// The container with this exit code: the name of a step (the rule then applies only to that step), or of an
	// init container of the template. Defaults to any container.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ContainerName *string `json:"containerName,omitempty"`

	// How the exit code relates to values: In or NotIn.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn
	Operator string `json:"operator"`

	// The exit codes, 1 to 255 of them, without duplicates, such as [1, 42].
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=255
	Values []int32 `json:"values"`
}

// PodFailurePolicyOnPodCondition matches a condition of a pod.
type PodFailurePolicyOnPodCondition struct {
	// The type of the condition, such as DisruptionTarget.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Type string `json:"type"`

	// The status of the condition: True, False or Unknown. Defaults to True.
	// +optional
	// +kubebuilder:validation:Enum="True";"False";Unknown
	Status string `json:"status,omitempty"`
}
