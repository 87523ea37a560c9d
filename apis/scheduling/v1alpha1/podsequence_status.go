package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase sums a sequence up in one word.
//
// +kubebuilder:validation:Enum=Pending;InProgress;Completed;Failed
type Phase string

// The phases of a sequence.
const (
	PhasePending    Phase = "Pending"    // no member seen yet
	PhaseInProgress Phase = "InProgress" // some group is not satisfied
	PhaseCompleted  Phase = "Completed"  // every group is satisfied
	PhaseFailed     Phase = "Failed"     // a group failed; later groups stay held
)

// GroupPhase sums a group up in one word.
//
// +kubebuilder:validation:Enum=Waiting;InProgress;Passed;Failed;Skipped
type GroupPhase string

// The phases of a group.
const (
	GroupWaiting    GroupPhase = "Waiting"    // an earlier group is not passed
	GroupInProgress GroupPhase = "InProgress" // released, not yet satisfied
	GroupPassed     GroupPhase = "Passed"     // the next group may start
	GroupFailed     GroupPhase = "Failed"     // released, and failed or too late; later groups stay held
	GroupSkipped    GroupPhase = "Skipped"    // spec says skip: no group waits for it
)

// Condition types of a PodSequence.
const (
	ConditionReady       = "Ready"       // every group is satisfied
	ConditionProgressing = "Progressing" // the sequence is under way
	ConditionDegraded    = "Degraded"    // something keeps the sequence from doing what its spec says
	ConditionSuspended   = "Suspended"   // nothing more is released, because spec.suspend says so
	ConditionSkipped     = "Skipped"     // some group has skip: no group waits for it
	ConditionDryRun      = "DryRun"      // nothing is held, because spec.dryRun says so
	ConditionCompleted   = "Completed"   // every group is passed: status.phase is Completed
)

// Condition types by which tools that know nothing of this kind, such as kstatus, tell how it is. They are there only while
// they are true.
const (
	ConditionReconciling = "Reconciling" // the same as Progressing, while Stalled is not true
	ConditionStalled     = "Stalled"     // the sequence will not complete unless somebody acts
)

// Reasons of conditions and events.
const (
	ReasonWaitingForPods      = "WaitingForPods"
	ReasonGroupNotReady       = "GroupNotReady"
	ReasonWaitDuration        = "WaitDuration"
	ReasonConfirming          = "Confirming"
	ReasonPodsReadyTimeout    = "PodsReadyTimeout"
	ReasonPodFailed           = "PodFailed"
	ReasonJobFailed           = "JobFailed"
	ReasonUnsupportedScope    = "UnsupportedScope"
	ReasonSuspended           = "Suspended"
	ReasonNotSuspended        = "NotSuspended"
	ReasonGangSplit           = "GangSplit"
	ReasonUngovernedPods      = "UngovernedPods"
	ReasonAmbiguousMembership = "AmbiguousMembership"
	ReasonGateNotAllowed      = "GateNotAllowed"
	ReasonNamespaceNotAllowed = "NamespaceNotAllowed"
	ReasonInvalidSpec         = "InvalidSpec"
	ReasonCompleted           = "Completed"
	ReasonAsExpected          = "AsExpected"
	ReasonGroupsSkipped       = "GroupsSkipped"
	ReasonNotSkipped          = "NotSkipped"
	ReasonDryRun              = "DryRun"
	ReasonEnforced            = "Enforced"
)

// Reasons of events that no condition has.
const (
	EventGroupReleased     = "GroupReleased"
	EventGroupReady        = "GroupReady"
	EventSequenceCompleted = "SequenceCompleted"
	EventGroupSkipped      = "GroupSkipped"
	EventGroupNotSkipped   = "GroupNotSkipped"
)

// NodePhase sums up in one word how far a node is.
//
// +kubebuilder:validation:Enum=InProgress;Completed;Failed
type NodePhase string

// The phases of a node.
const (
	NodeInProgress NodePhase = "InProgress" // some group that has pods or a due DaemonSet there is not satisfied
	NodeCompleted  NodePhase = "Completed"  // every group that has pods or a due DaemonSet there is satisfied
	NodeFailed     NodePhase = "Failed"     // a group failed there, or was too late
)

// MaxListedNodes is where the list of nodes in status is cut: those still waiting come first.
const MaxListedNodes = 256

// MaxListedPods is where lists of pod names in status are cut; the message tells of the cut.
const MaxListedPods = 100

// PodSequenceStatus is what podsequence-controller last saw.
type PodSequenceStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Phase sums the sequence up: Pending, InProgress, Completed or Failed.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// CurrentIndex is the 0-based index of the first group not yet passed, or the number of groups when all are. For scope
	// Node it is the minimum over the nodes that take part.
	// +optional
	CurrentIndex *int32 `json:"currentIndex,omitempty"`

	// CurrentGroup names the current group for people, such as "2/3 Application"; "-" when all groups are passed.
	// +optional
	CurrentGroup string `json:"currentGroup,omitempty"`

	// ReadyPods counts the current group's pods for people, such as "1/2"; all groups' pods when all are passed.
	// +optional
	ReadyPods string `json:"readyPods,omitempty"`

	// Groups has a record for each group of the spec, in the same order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Groups []GroupStatus `json:"groups,omitempty"`

	// CurrentGroupPods are the members of the current group, sorted, at most 100.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	CurrentGroupPods []string `json:"currentGroupPods,omitempty"`

	// ReadyPodsInCurrentGroup is the number of members of the current group that are ready. Cluster scope only.
	// +optional
	ReadyPodsInCurrentGroup int32 `json:"readyPodsInCurrentGroup,omitempty"`

	// ProcessedPods are the members of the groups already passed, sorted, at most 100.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	ProcessedPods []string `json:"processedPods,omitempty"`

	// NodeStatus has, for scope Node, a record for each node that takes part: at most 256, those still waiting first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	NodeStatus []NodeStatus `json:"nodeStatus,omitempty"`

	// NodeSummary counts, for scope Node, all nodes that take part.
	// +optional
	NodeSummary *NodeSummary `json:"nodeSummary,omitempty"`

	// DryRun says what the sequence would have held; absent unless spec.dryRun is true.
	// +optional
	DryRun *DryRunStatus `json:"dryRun,omitempty"`

	// Message is one line for people.
	// +optional
	Message string `json:"message,omitempty"`

	// Conditions are Ready, Completed, Progressing, Degraded and Suspended; Skipped and DryRun once they apply; Reconciling and
	// Stalled only while they are true.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DryRunStatus is what a sequence would have held had spec.dryRun not been true.
type DryRunStatus struct {
	// HeldNow is the number of pods that would be held now.
	HeldNow int32 `json:"heldNow"`

	// HeldTotal is the number of pods that would have been held at some time since the dry run began.
	HeldTotal int32 `json:"heldTotal"`

	// LongestSeconds is the longest time, in seconds, that one pod would have been held so far.
	LongestSeconds int64 `json:"longestSeconds"`

	// Pods are those that would be held now, sorted, at most 100.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Pods []string `json:"pods,omitempty"`
}

// GroupStatus is the record of one group.
type GroupStatus struct {
	// Name is the group's name in the spec, or "Group <n>".
	Name string `json:"name"`

	// Expected is the number of pods the group waits for.
	Expected int32 `json:"expected"`

	// Ready is how many of them are ready.
	Ready int32 `json:"ready"`

	// Phase is Waiting, InProgress, Passed, Failed or Skipped.
	// +optional
	Phase GroupPhase `json:"phase,omitempty"`

	// ChangedAt is when an edit changed what defines the group, or when spec.namespace came to allow the sequence after it had
	// not; absent if neither happened. The time-out of the group does not count from before.
	// +optional
	ChangedAt *metav1.Time `json:"changedAt,omitempty"`

	// ReleasedAt is when the group's pods were first released; under Continuous, when they were last released.
	// +optional
	ReleasedAt *metav1.Time `json:"releasedAt,omitempty"`

	// FirstSatisfiedAt is when the group was satisfied for the first time. A group that was satisfied once has no time-out
	// any more.
	// +optional
	FirstSatisfiedAt *metav1.Time `json:"firstSatisfiedAt,omitempty"`

	// SatisfiedAt is when the group became satisfied; absent while it is not.
	// +optional
	SatisfiedAt *metav1.Time `json:"satisfiedAt,omitempty"`

	// PassedAt is when the groups that wait for this one were first released. With Hash it is the durable record of the pass.
	// +optional
	PassedAt *metav1.Time `json:"passedAt,omitempty"`

	// Hash stands for what defines this group and those before it. A recorded pass holds while it is unchanged. It is absent
	// while spec.namespace does not allow the sequence, unless the group was passed before.
	// +optional
	Hash string `json:"hash,omitempty"`
}

// NodeStatus is how far a sequence of scope Node is on one node. A node takes part when a member of any group is bound to
// it, or a DaemonSet that a group selects should run on it.
type NodeStatus struct {
	// NodeName is the name of the node.
	NodeName string `json:"nodeName"`

	// CurrentIndex is the 0-based index of the first group with pods or a due DaemonSet there that is not yet passed, or
	// the number of groups when all are.
	CurrentIndex int32 `json:"currentIndex"`

	// ReadyPodsInCurrentGroup is the number of members of that group on the node that are ready.
	// +optional
	ReadyPodsInCurrentGroup int32 `json:"readyPodsInCurrentGroup,omitempty"`

	// SatisfiedAt is when that group became ready on the node; absent while it is not.
	// +optional
	SatisfiedAt *metav1.Time `json:"satisfiedAt,omitempty"`

	// TimedOut are the 0-based indices of the groups whose time was over on the node before they were ready there for the
	// first time. It is recorded so that a restart does not forget it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	TimedOut []int32 `json:"timedOut,omitempty"`

	// ReadyBefore are the 0-based indices of the groups that were ready on the node and are not ready any more: their
	// time-outs are over.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	ReadyBefore []int32 `json:"readyBefore,omitempty"`

	// Phase is InProgress, Completed or Failed.
	// +optional
	Phase NodePhase `json:"phase,omitempty"`

	// Conditions has Ready: false with what the node waits for.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeSummary counts the nodes that take part in a sequence of scope Node.
type NodeSummary struct {
	// Total is the number of nodes that take part.
	Total int32 `json:"total"`

	// Completed is how many of them have every group satisfied.
	Completed int32 `json:"completed"`

	// Waiting is how many of them have not.
	Waiting int32 `json:"waiting"`
}
