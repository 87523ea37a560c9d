package v1alpha1

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// DefaultSchedulingGateName is the gate a sequence lifts when its spec names none.
const DefaultSchedulingGateName = "podsequence.example.com/sequence-gate"

// FormerFinalizer is on PodSequences that the Pod Sequence Controller wrote, whose API this is. That program removed it when a
// PodSequence was deleted. PodSequence needs no finalizer: podsequence-controller removes this one, or nobody could delete the object.
const FormerFinalizer = "podsequence.example.com/finalizer"

// AllowSequencesFromAnnotation is on a namespace and lists the other namespaces whose PodSequences may hold its pods by
// spec.namespace: names with commas between them, or * for all. Without it no PodSequence of another namespace does.
const AllowSequencesFromAnnotation = "podsequence.example.com/allow-sequences-from"

// SequenceLabel is on a pod, by its template, and names the PodSequence of the pod's namespace that is to order it. The pod is held
// until that PodSequence exists, and then by every sequence that selects it. The label alone makes the pod a member of no group.
const SequenceLabel = "podsequence.example.com/sequence"

// RequireSequenceAnnotation is on a namespace. With the value RequireSequence, pods of the namespace that podsequence-scheduler
// schedules are held until some sequence selects them.
const (
	RequireSequenceAnnotation = "podsequence.example.com/require-sequence"
	RequireSequence           = "true"
)

// The annotations of a PodSequence or a ClusterPodSequence by which an operator overrides its spec for a time. Tools that apply the
// manifest leave annotations alone that are not in it.
const (
	// SuspendAnnotation suspends the sequence, as spec.suspend does, if its value is "true".
	SuspendAnnotation = "podsequence.example.com/suspend"
	// SkipAnnotation lists the names of groups, with commas between them, that are skipped as if they had skip.
	SkipAnnotation = "podsequence.example.com/skip"
	// OverrideReasonAnnotation says why.
	OverrideReasonAnnotation = "podsequence.example.com/override-reason"
	// OverrideUntilAnnotation is the time, as of RFC 3339, from which the other annotations do not count any more. Without it they count
	// until they are removed.
	OverrideUntilAnnotation = "podsequence.example.com/override-until"
)

// PodSequence starts groups of pods in order: it holds the pods of a group until the groups listed before are ready.
//
// +kubebuilder:object:root=true
// +kubebuilder:validation:XValidation:rule="has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))",message="spec is required: say in spec.podGroups which pods start in which order",optionalOldSelf=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=podseq,categories=podsequence-all
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="How far it is: Pending, InProgress, Completed or Failed"
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`,description="Active, or what is special: Suspended, DryRun, Overridden"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether every group is ready now"
// +kubebuilder:printcolumn:name="Scope",type=string,JSONPath=`.spec.scope`
// +kubebuilder:printcolumn:name="Current",type=string,JSONPath=`.status.currentGroup`,description="The first group not yet passed"
// +kubebuilder:printcolumn:name="Pods",type=string,JSONPath=`.status.readyPods`,description="Ready of expected pods in the current group; in all groups once all are passed, and for scope Node"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.status.enforcementMode`,priority=1,description="The enforcementMode in force, also if it is the default"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
type PodSequence struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which pods start in which order.
	// +optional
	Spec PodSequenceSpec `json:"spec"`

	// What podsequence-controller last saw. Of it, only the passes recorded in groups are ever read back. Before the
	// first write observedGeneration is -1, so that no tool takes a new object for a ready one.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
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
// +kubebuilder:validation:Enum=Cluster;Node
type Scope string

// The scopes of an order.
const (
	ScopeCluster Scope = "Cluster" // across the whole cluster
	ScopeNode    Scope = "Node"    // on each node by itself
)

// EnforcementMode says whether a group that was passed counts permanently.
//
// +kubebuilder:validation:Enum=BootstrapOnly;Continuous
type EnforcementMode string

// The modes of enforcement.
const (
	BootstrapOnly EnforcementMode = "BootstrapOnly" // once passed, a group counts permanently
	Continuous    EnforcementMode = "Continuous"    // a group counts only while it is satisfied
)

// RequiredStatus is what a member of a group must reach.
//
// +kubebuilder:validation:Enum=Ready;Started;Complete
type RequiredStatus string

// What a member may have to reach.
const (
	RequireReady    RequiredStatus = "Ready"    // condition Ready, or phase Succeeded
	RequireStarted  RequiredStatus = "Started"  // phase Running or Succeeded
	RequireComplete RequiredStatus = "Complete" // phase Succeeded
)

// TimeoutPolicy says what becomes of a sequence whose group was not satisfied in time.
//
// +kubebuilder:validation:Enum=Fail;Continue
type TimeoutPolicy string

// What a time-out may lead to.
const (
	TimeoutFail     TimeoutPolicy = "Fail"     // the sequence fails, later groups stay held
	TimeoutContinue TimeoutPolicy = "Continue" // the next group starts all the same
)

// PodSequenceSpec is the order asked for.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.scope) && self.scope == 'Node' && has(self.enforcementMode) && self.enforcementMode == 'BootstrapOnly')",message="enforcementMode must be Continuous for scope Node: leave it out, or set Continuous"
// +kubebuilder:validation:XValidation:rule="(has(self.scope) && self.scope == 'Node') || !has(self.podGroups) || !self.podGroups.exists(group, has(group.nodeSelector) && group.nodeSelector.size() > 0)",message="podGroups[].nodeSelector is only for scope Node: remove it, or set scope to Node"
// +kubebuilder:validation:XValidation:rule="(has(self.scope) && self.scope == 'Node') || !has(self.podGroups) || !self.podGroups.exists(group, has(group.nodeConditions) && group.nodeConditions.size() > 0)",message="podGroups[].nodeConditions is only for scope Node: remove it, or set scope to Node"
// +kubebuilder:validation:XValidation:rule="!has(self.podGroups) || !self.podGroups.exists(group, has(group.objects) && group.objects.exists(object, has(object.namespace) && object.namespace.size() > 0))",message="podGroups[].objects[].namespace is only for a ClusterPodSequence: remove it, because a PodSequence waits for objects of its own namespace"
type PodSequenceSpec struct {
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
	PodGroups []PodGroup `json:"podGroups"`

	// Where the order holds: Cluster or Node. Cluster: a group starts when the groups before it are ready everywhere. Node: a pod of a group
	// may be placed on a node when the groups before it are ready on that node. Defaults to Cluster.
	// +optional
	// +default="Cluster"
	Scope Scope `json:"scope,omitempty"`

	// The namespace of the pods. Defaults to the namespace of the PodSequence. Another namespace must allow it with
	// the annotation podsequence.example.com/allow-sequences-from: a comma-separated list of namespaces whose PodSequences may
	// hold its pods, or * for all. Otherwise the PodSequence holds and releases nothing, and is
	// Degraded, NamespaceNotAllowed.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Label().validate(self).hasValue()",message="must be the name of a namespace: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	Namespace string `json:"namespace,omitempty"`

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

// Mode is the enforcement mode, with its default by scope.
func (s *PodSequenceSpec) Mode() EnforcementMode {
	switch {
	case s.Scope == ScopeNode:
		return Continuous
	case s.EnforcementMode == "":
		return BootstrapOnly
	}
	return s.EnforcementMode
}

// PodGroup is a set of pods that start together, and of other things that later groups wait for. Pods or PodSelector says which
// pods, or neither if the group has no members.
//
// +kubebuilder:validation:XValidation:rule="!has(self.onTimeout) || (has(self.timeout) && self.timeout.size() > 0)",message="onTimeout needs timeout: set timeout, or remove onTimeout"
// +kubebuilder:validation:XValidation:rule="!has(self.expectedPods) || !has(self.pods) || self.pods.size() == 0",message="expectedPods is only for podSelector: remove it, because every pod that pods names is expected anyway"
// +kubebuilder:validation:XValidation:rule="!has(self.minReadySeconds) || !has(self.requiredStatus) || self.requiredStatus == 'Ready'",message="minReadySeconds is only for requiredStatus Ready: remove it, because a pod that has started or completed counts at once"
// +kubebuilder:validation:XValidation:rule="!has(self.minReadySeconds) || !has(self.requiredCondition) || self.requiredCondition.size() == 0",message="minReadySeconds is only for requiredStatus Ready: remove it, or remove requiredCondition; with requiredCondition waitDuration says how long the whole group must have been so"
// +kubebuilder:validation:XValidation:rule="!has(self.requiredCondition) || self.requiredCondition.size() == 0 || !has(self.requiredStatus) || self.requiredStatus == 'Ready'",message="requiredCondition takes the place of requiredStatus Ready: remove requiredStatus, or remove requiredCondition"
// +kubebuilder:validation:XValidation:rule="!(has(self.pods) && self.pods.size() > 0 && has(self.podSelector))",message="set only one of pods and podSelector: name the members in pods, or select them by label with podSelector"
// +kubebuilder:validation:XValidation:rule="(has(self.pods) && self.pods.size() > 0) || has(self.podSelector) || (has(self.objects) && self.objects.size() > 0) || (has(self.nodeConditions) && self.nodeConditions.size() > 0)",message="set pods, podSelector, objects or nodeConditions: a group must have members, or something else to wait for"
// +kubebuilder:validation:XValidation:rule="(has(self.pods) && self.pods.size() > 0) || has(self.podSelector) || !(has(self.expectedPods) || has(self.minAvailable) || has(self.minReadySeconds) || (has(self.requiredCondition) && self.requiredCondition.size() > 0))",message="expectedPods, minAvailable, minReadySeconds and requiredCondition are about members, and the group has none: remove them, or set pods or podSelector"
type PodGroup struct {
	// The name of the group in messages, events and dependsOn, up to 63 characters, none of them a control character, such
	// as Database. No other group may have this name. Defaults to "Group <n>" in messages, n from 1.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// The names of the members, 1 to 256, such as [db-0, db-1]. Every one is expected: a pod that does not exist is not
	// ready. Set at most one of pods and podSelector; [] is the same as leaving pods out.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:XValidation:rule=`!self.matches(r'[^a-z\d.-]|\.\W|-\.') && !self.startsWith('.') && !self.startsWith('-') && !self.endsWith('.') && !self.endsWith('-')`,message="must be the name of a pod: lower-case letters, digits, '-' and '.', each part between dots beginning and ending with a letter or digit"
	Pods []string `json:"pods,omitempty"`

	// Selects the members by label. {} selects every pod of the namespace that is in no earlier group. The workloads
	// whose pod templates it selects say how many pods the group expects. Set at most one of pods and podSelector.
	// +optional
	PodSelector *LabelSelector `json:"podSelector,omitempty"`

	// The names of the groups that this group waits for, up to 16, such as [Database, Cache]. It also waits for
	// the groups that those wait for. Each must be listed earlier, and no other group may have its name. [] waits for none.
	// Defaults to all groups listed before.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	DependsOn []string `json:"dependsOn,omitzero"`

	// The least number of members that the group expects, 1 to 100000, whatever its workloads ask for. Set it for
	// pods of owners that PodSequence does not know, such as a LeaderWorkerSet. Only with podSelector. Defaults to what the
	// workloads ask for.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	ExpectedPods int32 `json:"expectedPods,omitempty"`

	// Other objects that must be ready before the group is, up to 16, such as a Certificate or the database of an operator. The group
	// is ready when its members are, if it has any, and all its objects. podsequence-controller reads them, if a ClusterRole with
	// the label podsequence.example.com/aggregate-to-controller: "true" permits it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Objects []ObjectReference `json:"objects,omitempty"`

	// For scope Node only: conditions of the node that must hold before the group is ready on it, up to 8, such as one that
	// a health check of its GPUs sets. The group is ready on a node when its members there are, if it has any, and all these hold.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	NodeConditions []NodeConditionRequirement `json:"nodeConditions,omitempty"`

	// Lets later groups start without this group while it is true. The pods of this group are still released in their turn.
	// Defaults to false.
	// +optional
	Skip bool `json:"skip,omitempty"`

	// For scope Node only: the labels of the nodes that the group applies to, up to 16, such as
	// example.com/gpu: "true". On other nodes nothing waits for the group. Defaults to all nodes.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.size() <= 317 && !format.qualifiedName().validate(key).hasValue())",message="every key must be a label key: an optional DNS prefix and '/', then up to 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.labelValue().validate(self[key]).hasValue())",message="every value must be a label value: up to 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`

	// What each member must reach. Ready: its condition Ready is true, or its phase is Succeeded. Started: its phase
	// is Running or Succeeded; use this for a leader that becomes ready only after the pods that wait for it have come. Complete: its
	// phase is Succeeded; use this for Jobs. Defaults to Ready.
	// +optional
	// +default="Ready"
	RequiredStatus RequiredStatus `json:"requiredStatus,omitempty"`

	// The type of a condition that must be True for each member, in place of requiredStatus Ready, such as
	// example.com/Reachable: a readiness gate, or what an operator sets. Not with another requiredStatus.
	// +optional
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.qualifiedName().validate(self).hasValue()",message="must be the type of a pod condition, such as example.com/Reachable: an optional DNS prefix and '/', then up to 63 letters, digits, '-', '_' or '.'"
	RequiredCondition string `json:"requiredCondition,omitempty"`

	// How long a member must have been Ready without a break before it counts as ready, 0 to 3600 seconds, with or
	// without a readiness probe. One that has succeeded counts at once. Only with requiredStatus Ready. Defaults to 0 for members with a
	// readiness probe, and to what the cluster administrator sets (--unprobed-ready-seconds, 5 as shipped) for members of which no
	// container has one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`

	// How many members must be ready: a number such as 2, up to 100000 and not more than expectedPods, or a percentage of the expected
	// members such as "50%", rounded up. Defaults to every expected member.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 && int(self) <= 100000 : string(self).matches('^(100|[1-9]?[0-9])%$')",message="must be a number from 0 to 100000, or a percentage from 0% to 100%"
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`

	// How long the group must stay ready without a break before the groups that wait for it start: a Go duration
	// in whole seconds such as 30s or 1h30m. Defaults to 0s.
	// +optional
	WaitDuration Duration `json:"waitDuration,omitempty"`

	// The longest time that the group may take from its release until it is ready: a Go duration in whole seconds such
	// as 10m. When it is over, onTimeout applies. Defaults to no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('[1-9]')",message="must be longer than 0s, such as 10m"
	Timeout Duration `json:"timeout,omitempty"`

	// What follows a time-out: Fail or Continue. Fail: when timeout is over, the sequence is Failed and later groups stay held until the
	// group is ready after all. Continue: later groups start without it. Only with timeout. Defaults to Fail.
	// +optional
	OnTimeout TimeoutPolicy `json:"onTimeout,omitempty"`
}

// Duration is a Go duration of 0s or more, such as 30s or 1h30m. It is kept as it was written. An empty one is the same as none.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.size() == 0 || (self.matches('^(0|([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+)$') && duration(self) >= duration('0s'))",message="must be a duration of 0s or more, such as 30s or 1h30m"
type Duration string

// Parse returns the duration, 0 if it is empty, or an error if it is no duration or negative.
func (d Duration) Parse() (time.Duration, error) {
	if d == "" {
		return 0, nil
	}
	parsed, err := time.ParseDuration(string(d))
	if err == nil && parsed < 0 {
		err = fmt.Errorf("duration %q is negative", d)
	}
	return parsed, err
}

// LabelSelector has the JSON of meta/v1 LabelSelector, with the bounds that let the API server check it.
// All requirements must hold; {} selects everything.
//
// +structType=atomic
type LabelSelector struct {
	// Labels that the object must have with these values, up to 32, such as app: web.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.size() <= 317 && !format.qualifiedName().validate(key).hasValue())",message="every key must be a label key: an optional DNS prefix and '/', then up to 63 letters, digits, '-', '_' or '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.labelValue().validate(self[key]).hasValue())",message="every value must be a label value: up to 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// Further requirements on labels, up to 32. All of them must hold.
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
	// The label key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be a label key: an optional DNS prefix and '/', then up to 63 letters, digits, '-', '_' or '.'"
	Key string `json:"key"`

	// How the label relates to values: In, NotIn, Exists or DoesNotExist.
	// +required
	Operator LabelSelectorOperator `json:"operator"`

	// The values to compare the label with, up to 64. Only for In and NotIn.
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
