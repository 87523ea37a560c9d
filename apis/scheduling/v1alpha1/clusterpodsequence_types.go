package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterPodSequence holds groups of pods of any namespaces back until the groups listed before theirs are ready. It is for
// those who run the cluster: it needs no consent of the namespaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=cpodseq
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Scope",type=string,JSONPath=`.spec.scope`
// +kubebuilder:printcolumn:name="Current",type=string,JSONPath=`.status.currentGroup`,description="The first group not yet passed"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.readyPods`,description="Ready of expected pods in the current group"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
type ClusterPodSequence struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the order asked for.
	// +required
	Spec ClusterPodSequenceSpec `json:"spec"`

	// Status is what podsequence-controller last saw. Its lists name pods as namespace/name. Only passes recorded in groups
	// are ever read back.
	// +optional
	Status PodSequenceStatus `json:"status,omitempty,omitzero"`
}

// ClusterPodSequenceList is a list of ClusterPodSequences.
//
// +kubebuilder:object:root=true
type ClusterPodSequenceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterPodSequence `json:"items"`
}

// ClusterPodSequenceSpec is the order asked for.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.scope) && self.scope == 'Node' && has(self.enforcementMode) && self.enforcementMode == 'BootstrapOnly')",message="enforcementMode must be Continuous for scope Node: leave it out, or set Continuous"
// +kubebuilder:validation:XValidation:rule="(has(self.scope) && self.scope == 'Node') || !self.podGroups.exists(group, has(group.nodeSelector))",message="podGroups[].nodeSelector is only for scope Node: remove it, or set scope to Node"
type ClusterPodSequenceSpec struct {
	// PodGroups are the groups in start order, 1 to 64. A pod belongs to the first group that names or selects it.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(i, group, !has(group.dependsOn) || group.dependsOn.all(name, self.exists(j, other, j < i && has(other.name) && other.name == name)))",message="podGroups[].dependsOn names groups that are listed earlier: correct the name, or move the group that it names before this one"
	// +kubebuilder:validation:XValidation:rule="self.all(group, !has(group.dependsOn) || group.dependsOn.all(name, self.filter(other, has(other.name) && other.name == name).size() <= 1))",message="a name in podGroups[].dependsOn must be the name of one group only: give each group a name of its own"
	PodGroups []ClusterPodGroup `json:"podGroups"`

	// Scope says over what the order holds: Cluster, across the whole cluster, or Node, on each node by itself.
	// Defaults to Cluster.
	// +optional
	// +default="Cluster"
	Scope Scope `json:"scope,omitempty"`

	// SchedulingGateName is the scheduling gate that this sequence lifts from its pods when their turn comes.
	// Only prefixes that the operator of the cluster allows are ever lifted.
	// Defaults to podsequence.example.com/sequence-gate.
	// +optional
	// +default="podsequence.example.com/sequence-gate"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be a qualified name such as podsequence.example.com/sequence-gate: an optional DNS prefix and '/', then up to 63 letters, digits, '-', '_' or '.'"
	SchedulingGateName string `json:"schedulingGateName,omitempty"`

	// EnforcementMode says whether a group once passed counts permanently (BootstrapOnly) or only while it is satisfied
	// (Continuous). Defaults to BootstrapOnly for scope Cluster and to Continuous, the only mode there, for scope Node.
	// +optional
	EnforcementMode EnforcementMode `json:"enforcementMode,omitempty"`

	// Suspend stops further releases while it is true. What was released stays. Defaults to false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// DryRun holds no pod while it is true: pods are released at once, and status.dryRun says which would have been held.
	// Defaults to false.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
}

// Mode returns the enforcement mode, with its default by scope.
func (s *ClusterPodSequenceSpec) Mode() EnforcementMode {
	return (&PodSequenceSpec{Scope: s.Scope, EnforcementMode: s.EnforcementMode}).Mode()
}

// ClusterPodGroup is a set of pods of one or several namespaces that start together. Exactly one of Namespaces and
// NamespaceSelector says where they live.
//
// +kubebuilder:validation:XValidation:rule="has(self.namespaces) != has(self.namespaceSelector)",message="set exactly one of namespaces and namespaceSelector: name the namespaces of the members, or select them by label"
// +kubebuilder:validation:XValidation:rule="!has(self.pods) || (has(self.namespaces) && self.namespaces.size() == 1)",message="pods needs exactly one entry in namespaces: name the one namespace of these pods, or write one group per namespace"
type ClusterPodGroup struct {
	PodGroup `json:",inline"`

	// Namespaces are the names of the namespaces where the members live, 1 to 64. One that does not exist has no pods.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`

	// NamespaceSelector selects the namespaces where the members live by their labels. {} selects every namespace.
	// +optional
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`
}
