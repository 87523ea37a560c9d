package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterPodSequence starts groups of pods of any namespaces in order: it holds the pods of a group until the groups listed
// before are ready. It is for cluster administrators, and needs no consent of the namespaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:validation:XValidation:rule="has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))",message="spec is required: say in spec.podGroups which pods start in which order",optionalOldSelf=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=cpodseq,categories=podsequence-all
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="How far it is: Pending, InProgress, Completed or Failed"
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`,description="Active, or what is special: Suspended, DryRun, Overridden"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether every group is ready now"
// +kubebuilder:printcolumn:name="Scope",type=string,JSONPath=`.spec.scope`
// +kubebuilder:printcolumn:name="Current",type=string,JSONPath=`.status.currentGroup`,description="The first group not yet passed"
// +kubebuilder:printcolumn:name="Pods",type=string,JSONPath=`.status.readyPods`,description="Ready of expected pods in the current group; in all groups once all are passed, and for scope Node"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.status.enforcementMode`,priority=1,description="The enforcementMode in force, also if it is the default"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
type ClusterPodSequence struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which pods start in which order.
	// +optional
	Spec ClusterPodSequenceSpec `json:"spec"`

	// What podsequence-controller last saw. Its lists name pods as namespace/name. Of it, only the passes recorded in
	// groups are ever read back. Before the first write observedGeneration is -1, so that no tool takes a new object for a ready
	// one.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
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
// +kubebuilder:validation:XValidation:rule="(has(self.scope) && self.scope == 'Node') || !has(self.podGroups) || !self.podGroups.exists(group, has(group.nodeSelector) && group.nodeSelector.size() > 0)",message="podGroups[].nodeSelector is only for scope Node: remove it, or set scope to Node"
// +kubebuilder:validation:XValidation:rule="(has(self.scope) && self.scope == 'Node') || !has(self.podGroups) || !self.podGroups.exists(group, has(group.nodeConditions) && group.nodeConditions.size() > 0)",message="podGroups[].nodeConditions is only for scope Node: remove it, or set scope to Node"
type ClusterPodSequenceSpec struct {
	// The groups, in start order, 1 to 64. A pod belongs to the first group that names or selects it. Each group
	// waits for all groups listed before it, unless it sets dependsOn.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="[self.map(group, has(group.name) ? group.name : '')].all(names, self.all(i, group, !has(group.dependsOn) || group.dependsOn.all(name, names.indexOf(name) >= 0 && names.indexOf(name) < i)))",message="podGroups[].dependsOn must name groups that are listed earlier: correct the name, or list that group before this one",messageExpression=`[self.map(group, has(group.name) ? group.name : '')].map(names, self.transformList(i, group, has(group.dependsOn) && group.dependsOn.exists(name, (names.indexOf(name) < 0 || names.indexOf(name) >= i)), group.dependsOn.filter(name, (names.indexOf(name) < 0 || names.indexOf(name) >= i)).map(name, 'podGroups[%d].dependsOn: group "%s" depends on "%s", which is %s'.format([i, has(group.name) && group.name != '' ? group.name : 'Group %d'.format([i + 1]), name, names.indexOf(name) < 0 ? 'the name of no group: correct the name, or name that group' : 'not listed earlier: list that group before this one']))[0])[0])[0]`
	// +kubebuilder:validation:XValidation:rule="[self.map(group, has(group.name) ? group.name : '')].all(names, self.all(group, !has(group.dependsOn) || group.dependsOn.all(name, names.indexOf(name) == names.lastIndexOf(name))))",message="a name in podGroups[].dependsOn must belong to one group only: give each group its own name",messageExpression=`[self.map(group, has(group.name) ? group.name : '')].map(names, self.transformList(i, group, has(group.dependsOn) && group.dependsOn.exists(name, names.indexOf(name) != names.lastIndexOf(name)), group.dependsOn.filter(name, names.indexOf(name) != names.lastIndexOf(name)).map(name, 'podGroups[%d].dependsOn: group "%s" depends on "%s", which more than one group is called: give each group its own name'.format([i, has(group.name) && group.name != '' ? group.name : 'Group %d'.format([i + 1]), name]))[0])[0])[0]`
	// +kubebuilder:validation:XValidation:rule="self.all(i, group, (oldSelf.hasValue() && i < oldSelf.value().size() && (has(oldSelf.value()[i].name) ? oldSelf.value()[i].name : '') == (has(group.name) ? group.name : '')) || !self.exists(j, other, i != j && (has(group.name) && group.name != '' ? (has(other.name) && other.name != '' ? group.name == other.name : group.name.matches('^Group [1-9][0-9]?$') && int(group.name.substring(6)) == j + 1) : has(other.name) && other.name.matches('^Group [1-9][0-9]?$') && int(other.name.substring(6)) == i + 1)))",message="names in podGroups must differ, and a group without a name is called \"Group <n>\", n from 1: give each group its own podGroups[].name",optionalOldSelf=true
	// +kubebuilder:validation:XValidation:rule="self.all(i, group, !has(group.name) || !group.name.matches('[\\\\p{Cc}\\\\x{2028}\\\\x{2029}\\\\x{202a}-\\\\x{202e}\\\\x{2066}-\\\\x{2069}]') || (oldSelf.hasValue() && i < oldSelf.value().size() && (has(oldSelf.value()[i].name) ? oldSelf.value()[i].name : '') == (has(group.name) ? group.name : '')))",message="podGroups[].name must not contain control characters such as a line break: remove them",optionalOldSelf=true
	// +kubebuilder:validation:XValidation:rule=`self.all(i, group, !(has(group.expectedPods) && has(group.minAvailable) && type(group.minAvailable) == int && int(group.minAvailable) > group.expectedPods) || (oldSelf.hasValue() && self.exists(j, other, [j, j + oldSelf.value().size() - self.size()].exists(k, k >= 0 && k < oldSelf.value().size() && has(oldSelf.value()[k].expectedPods) && oldSelf.value()[k].expectedPods == group.expectedPods && has(oldSelf.value()[k].minAvailable) && oldSelf.value()[k].minAvailable == group.minAvailable))))`,message=`podGroups[].minAvailable must not be more than expectedPods: lower minAvailable, or raise expectedPods`,messageExpression=`[self.transformList(i, group, (has(group.expectedPods) && has(group.minAvailable) && type(group.minAvailable) == int && int(group.minAvailable) > group.expectedPods), 'podGroups[%d].minAvailable: group "%s" needs %d ready members and expects %d: lower minAvailable, or raise expectedPods'.format([i, has(group.name) && group.name != '' ? group.name : 'Group %d'.format([i + 1]), int(group.minAvailable), group.expectedPods]))].map(texts, texts.size() == 1 ? texts[0] : '%s'.format([texts]))[0]`,optionalOldSelf=true
	// +kubebuilder:validation:XValidation:rule=`self.all(i, group, !(has(group.waitDuration) && group.waitDuration.matches('^(0|([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+)$') && timestamp(0) + duration(group.waitDuration) != timestamp(duration(group.waitDuration).getSeconds())) || (oldSelf.hasValue() && self.exists(j, other, [j, j + oldSelf.value().size() - self.size()].exists(k, k >= 0 && k < oldSelf.value().size() && has(oldSelf.value()[k].waitDuration) && oldSelf.value()[k].waitDuration == group.waitDuration))))`,message=`podGroups[].waitDuration must be a whole number of seconds, such as 30s`,messageExpression=`[self.transformList(i, group, (has(group.waitDuration) && group.waitDuration.matches('^(0|([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+)$') && timestamp(0) + duration(group.waitDuration) != timestamp(duration(group.waitDuration).getSeconds())), 'podGroups[%d].waitDuration: "%s" of group "%s" is not a whole number of seconds: use a duration such as 30s'.format([i, group.waitDuration, has(group.name) && group.name != '' ? group.name : 'Group %d'.format([i + 1])]))].map(texts, texts.size() == 1 ? texts[0] : '%s'.format([texts]))[0]`,optionalOldSelf=true
	// +kubebuilder:validation:XValidation:rule=`self.all(i, group, !(has(group.timeout) && group.timeout.matches('^(0|([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+)$') && timestamp(0) + duration(group.timeout) != timestamp(duration(group.timeout).getSeconds())) || (oldSelf.hasValue() && self.exists(j, other, [j, j + oldSelf.value().size() - self.size()].exists(k, k >= 0 && k < oldSelf.value().size() && has(oldSelf.value()[k].timeout) && oldSelf.value()[k].timeout == group.timeout))))`,message=`podGroups[].timeout must be a whole number of seconds, such as 10m`,messageExpression=`[self.transformList(i, group, (has(group.timeout) && group.timeout.matches('^(0|([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+)$') && timestamp(0) + duration(group.timeout) != timestamp(duration(group.timeout).getSeconds())), 'podGroups[%d].timeout: "%s" of group "%s" is not a whole number of seconds: use a duration such as 10m'.format([i, group.timeout, has(group.name) && group.name != '' ? group.name : 'Group %d'.format([i + 1])]))].map(texts, texts.size() == 1 ? texts[0] : '%s'.format([texts]))[0]`,optionalOldSelf=true
	PodGroups []ClusterPodGroup `json:"podGroups"`

	// Where the order holds: Cluster or Node. Cluster: a group starts when the groups before it are ready everywhere. Node: a pod of a group
	// may be placed on a node when the groups before it are ready on that node. Defaults to Cluster.
	// +optional
	// +default="Cluster"
	Scope Scope `json:"scope,omitempty"`

	// The scheduling gate that this sequence removes from a pod when it releases the pod. Its prefix must
	// be one that the cluster administrator allows (--gate-prefixes); otherwise the gate is never removed, and the sequence is
	// Degraded, GateNotAllowed. Defaults to podsequence.example.com/sequence-gate.
	// +optional
	// +default="podsequence.example.com/sequence-gate"
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.qualifiedName().validate(self).hasValue()",message="must be a qualified name such as podsequence.example.com/sequence-gate: an optional DNS prefix and '/', then up to 63 letters, digits, '-', '_' or '.'"
	SchedulingGateName string `json:"schedulingGateName,omitempty"`

	// How long a pass counts: BootstrapOnly or Continuous. BootstrapOnly: once a group is passed, later groups never wait for it
	// again, even if its pods fail. Continuous: new pods of later groups wait whenever the group is not ready; pods that have a
	// node stay. Defaults to BootstrapOnly for scope Cluster, and to Continuous, the only mode there, for scope Node.
	// +optional
	EnforcementMode EnforcementMode `json:"enforcementMode,omitempty"`

	// Stops further releases while it is true. Pods that were released stay. Defaults to false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Lets all pods start at once while it is true; status.dryRun says which pods would have been held. Use it to try a
	// sequence on workloads in production. While suspend is true as well, pods are held all the same. Defaults to false.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
}

// Mode returns the enforcement mode, with its default by scope.
func (s *ClusterPodSequenceSpec) Mode() EnforcementMode {
	return (&PodSequenceSpec{Scope: s.Scope, EnforcementMode: s.EnforcementMode}).Mode()
}

// ClusterPodGroup is a set of pods of one or several namespaces that start together. Exactly one of Namespaces and
// NamespaceSelector says where they live. A group without members has neither.
//
// +kubebuilder:validation:XValidation:rule="!((has(self.pods) && self.pods.size() > 0) || has(self.podSelector)) || (has(self.namespaces) && self.namespaces.size() > 0) != has(self.namespaceSelector)",message="set exactly one of namespaces and namespaceSelector: name the namespaces of the members, or select them by label"
// +kubebuilder:validation:XValidation:rule="(has(self.pods) && self.pods.size() > 0) || has(self.podSelector) || !((has(self.namespaces) && self.namespaces.size() > 0) || has(self.namespaceSelector)) || !((has(self.objects) && self.objects.size() > 0) || (has(self.nodeConditions) && self.nodeConditions.size() > 0))",message="namespaces and namespaceSelector say where members live, and the group has none: remove them, or set pods or podSelector; an object says its namespace itself"
// +kubebuilder:validation:XValidation:rule="!has(self.pods) || self.pods.size() == 0 || (has(self.namespaces) && self.namespaces.size() == 1)",message="pods needs exactly one entry in namespaces: name the one namespace of these pods, or write one group per namespace"
type ClusterPodGroup struct {
	PodGroup `json:",inline"`

	// The names of the namespaces of the members, 1 to 64, such as [kube-system]. A namespace that does not exist
	// has no pods. Set either namespaces or namespaceSelector; [] is the same as leaving namespaces out.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`

	// Selects the namespaces of the members by their labels. {} selects every namespace. It never selects kube-system
	// nor the namespace where PodSequence is installed: list these in namespaces. Set either namespaces or namespaceSelector.
	// +optional
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`
}
