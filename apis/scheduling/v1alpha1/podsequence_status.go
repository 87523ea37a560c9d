package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Condition types of a PodSequence.
const (
	ConditionReady       = "Ready"       // every group is satisfied
	ConditionProgressing = "Progressing" // the sequence is under way
	ConditionDegraded    = "Degraded"    // something keeps the sequence from doing what its spec says
	ConditionSuspended   = "Suspended"   // nothing more is released, because spec.suspend says so
	ConditionSkipped     = "Skipped"     // some group has skip: no group waits for it
	ConditionDryRun      = "DryRun"      // spec.dryRun is true: nothing is held, unless it is suspended
	ConditionCompleted   = "Completed"   // every group is passed: status.phase is Completed
	ConditionOverridden  = "Overridden"  // annotations of the sequence suspend it, or skip groups
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
	ReasonRecording           = "Recording"
	ReasonPodsReadyTimeout    = "PodsReadyTimeout"
	ReasonPodFailed           = "PodFailed"
	ReasonJobFailed           = "JobFailed"
	ReasonUnsupportedScope    = "UnsupportedScope"
	ReasonSuspended           = "Suspended"
	ReasonNotSuspended        = "NotSuspended"
	ReasonGangSplit           = "GangSplit"
	ReasonWaitsForItself      = "WaitsForItself"
	ReasonUngovernedPods      = "UngovernedPods"
	ReasonAmbiguousMembership = "AmbiguousMembership"
	ReasonPodsCrashLooping    = "PodsCrashLooping"
	ReasonPodsOutdated        = "PodsOutdated"
	ReasonGateNotAllowed      = "GateNotAllowed"
	ReasonNamespaceNotAllowed = "NamespaceNotAllowed"
	ReasonInvalidSpec         = "InvalidSpec"
	ReasonCompleted           = "Completed"
	ReasonAsExpected          = "AsExpected"
	ReasonGroupsSkipped       = "GroupsSkipped"
	ReasonNotSkipped          = "NotSkipped"
	ReasonOverridden          = "Overridden"
	ReasonNotOverridden       = "NotOverridden"
	ReasonInvalidOverride     = "InvalidOverride"
	ReasonDryRun              = "DryRun"
	ReasonEnforced            = "Enforced"
	ReasonObjectNotFound      = "ObjectNotFound"
	ReasonObjectNotReadable   = "ObjectNotReadable"

	// ReasonWaitingForPodSequence: a pod waits for a PodSequence that does not exist, see SequenceLabel and RequireSequenceAnnotation.
	ReasonWaitingForPodSequence = "WaitingForPodSequence"
	// ReasonStartedOutOfOrder: pods were bound before their sequence existed, or by another scheduler, while a group that they wait for
	// was not passed.
	ReasonStartedOutOfOrder = "StartedOutOfOrder"
	// ReasonStrayPods: pods name the PodSequence by SequenceLabel, and none of its groups selects them.
	ReasonStrayPods = "StrayPods"
)

// Reasons of events that no condition has.
const (
	EventGroupReleased     = "GroupReleased"
	EventGroupReady        = "GroupReady"
	EventSequenceCompleted = "SequenceCompleted"
	EventGroupSkipped      = "GroupSkipped"
	EventGroupNotSkipped   = "GroupNotSkipped"
	EventOverrideBegan     = "OverrideBegan"
	EventOverrideChanged   = "OverrideChanged"
	EventOverrideEnded     = "OverrideEnded"
	// EventOrderChanged tells which groups an edit took out of the order, added or moved.
	EventOrderChanged = "OrderChanged"
	// EventWaitingForGroup is on a pod that has been held for ten seconds: it waits for a group of a sequence that exists. For others
	// see ReasonWaitingForPodSequence.
	EventWaitingForGroup = "WaitingForGroup"
)

// MaxListedNodes is where the list of nodes in status is cut: those that failed come first.
const MaxListedNodes = 256

// MaxListedPods is where lists of pod names in status are cut; the message tells of the cut.
const MaxListedPods = 100

// MaxFailures is how many members that failed a sequence remembers.
const MaxFailures = 64

// PodSequenceStatus is what podsequence-controller last saw.
type PodSequenceStatus struct {
	// The generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The UID of the object that this status describes. A status that a backup tool restored to an object with another
	// UID counts as if there was none. Absent if an earlier release wrote the status, which then counts.
	// +optional
	ObservedUID types.UID `json:"observedUID,omitempty"`

	// How far the pods have come: Pending (no pod of any group exists yet, or the namespace in spec.namespace does not
	// allow the sequence), InProgress, Completed (every group is passed or skipped) or Failed (a current group, for scope Node on some
	// node, will not become ready unless somebody acts, and the groups that wait for it stay held). It does not say whether the
	// sequence holds pods: while it is suspended or in a dry run, the phase is that of its pods as ever, and state says the rest. A
	// group that was not ready within its timeout is Failed only with onTimeout Fail; with Continue it is passed. In mode
	// BootstrapOnly a sequence stays Completed when pods fail later: the condition Ready says how they are now.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// For kubectl get: Active, or, with commas between them, what is special about the sequence. Suspended: nothing more is
	// released. DryRun: nothing is held, unless it is Suspended as well. Overridden: annotations suspend it or skip groups, whatever
	// the spec says. NamespaceNotAllowed: the namespace in spec.namespace does not allow it, and nothing is held. StartedOutOfOrder:
	// pods run that started too early, see startedOutOfOrder. Programs should read the conditions instead.
	// +optional
	State string `json:"state,omitempty"`

	// The mode in force: that of the spec, or the default for its scope.
	// +optional
	EnforcementMode EnforcementMode `json:"enforcementMode,omitempty"`

	// The 0-based index of the first group that is not passed yet; the number of groups if all are passed. For
	// scope Node it is the lowest of all nodes that take part.
	// +optional
	CurrentIndex *int32 `json:"currentIndex,omitempty"`

	// The current group for kubectl get, such as "2/3 Application"; "-" if all groups are passed.
	// +optional
	CurrentGroup string `json:"currentGroup,omitempty"`

	// The number of ready and expected pods of the current group for kubectl get, such as "1/2"; of all groups if
	// all are passed or skipped, and for scope Node.
	// +optional
	ReadyPods string `json:"readyPods,omitempty"`

	// The states of the groups, in the order of the spec.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Groups []GroupStatus `json:"groups,omitempty"`

	// Which groups were passed, by the hash of the definition of the group and of the groups that it waits for. Pods are released by
	// what this says, and not by what the programs remember. An entry counts while its hash and its UID do. Either of
	// podsequence-scheduler and podsequence-controller writes one, before it releases anything by it. Only for scope Cluster and
	// mode BootstrapOnly, and not in a dry run: elsewhere what is ready now counts.
	// +optional
	// +mapType=granular
	// +kubebuilder:validation:MaxProperties=128
	Passes map[string]GroupPass `json:"passes,omitempty"`

	// The Jobs and the pods without a controller that failed in groups by label that are not passed, at most 64. A
	// failure stays on record, also when the object is deleted, until an object of its name is created again, a Job of the group
	// that was created after the failure is complete, an edit takes it out of its group, or the group is skipped. Only for scope
	// Cluster.
	// +optional
	// +listType=map
	// +listMapKey=uid
	// +kubebuilder:validation:MaxItems=64
	Failures []Failure `json:"failures,omitempty"`

	// The members of the current group, sorted, at most 100.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	CurrentGroupPods []string `json:"currentGroupPods,omitempty"`

	// The number of ready members of the current group. Only for scope Cluster.
	// +optional
	ReadyPodsInCurrentGroup int32 `json:"readyPodsInCurrentGroup,omitempty"`

	// The members of the groups that are passed, sorted, at most 100.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	ProcessedPods []string `json:"processedPods,omitempty"`

	// Only for scope Node: the nodes that take part and still wait, at most 256, those that failed first. A node leaves the list when
	// every group that has pods or a due DaemonSet there is passed. nodeSummary counts all nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	NodeStatus []NodeStatus `json:"nodeStatus,omitempty"`

	// For scope Node only: the numbers of nodes that take part.
	// +optional
	NodeSummary *NodeSummary `json:"nodeSummary,omitempty"`

	// Which pods the sequence would have held. Absent unless spec.dryRun is true.
	// +optional
	DryRun *DryRunStatus `json:"dryRun,omitempty"`

	// The pods that were bound while a group that they wait for was not passed. Of those that podsequence-scheduler
	// bound, the controller judges, when it first writes status, the ones bound within 10 minutes before the sequence was created: of
	// older pods nothing shows in which order they started. Those of other schedulers, which nothing held, it judges also when they are
	// bound later. A pod leaves the list when it is deleted, has ended, or waits for no group any more. Absent if there are none.
	// +optional
	StartedOutOfOrder *StartedOutOfOrderStatus `json:"startedOutOfOrder,omitempty"`

	// The reasons for which the sequence is Degraded, sorted, each once. The condition has only the most serious of them as its reason.
	// Absent if it is not Degraded, or if an earlier release wrote the status.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	DegradedReasons []string `json:"degradedReasons,omitempty"`

	// What the programs remember between restarts. It is not for people, and its form may change with every release: do not
	// rely on it. Absent if an earlier release wrote the status; then hash and changedAt in groups count.
	// +optional
	Memory *SequenceMemory `json:"memory,omitempty"`

	// Says in one line what the sequence waits for, such as: waiting for group 1/3 "Database": 1 of 2 pods ready.
	// +optional
	Message string `json:"message,omitempty"`

	// The conditions Ready (every group is ready now), Completed (every group is passed), Progressing, Degraded (something is
	// wrong) and Suspended; also Skipped, DryRun and Overridden once they have applied, and Reconciling and Stalled while they are
	// true.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Failure is a Job or a pod that failed.
type Failure struct {
	// Job or Pod.
	Kind string `json:"kind"`

	// Where it is, or was.
	Namespace string `json:"namespace"`

	// Its name.
	Name string `json:"name"`

	// The UID, which tells it from a successor with the same name.
	UID types.UID `json:"uid"`

	// When it was created.
	CreatedAt metav1.Time `json:"createdAt"`

	// The number of pods that its group expects of it.
	Pods int32 `json:"pods"`

	// When a Job failed.
	// +optional
	FailedAt *metav1.Time `json:"failedAt,omitempty"`

	// The labels of the pod, or of the pod template of the Job: they say which group it belongs to. Of labels with more than
	// 1 KiB together only those are kept that groups ask for.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// DryRunStatus is what a sequence would have held had spec.dryRun not been true.
type DryRunStatus struct {
	// The number of pods that would be held now.
	HeldNow int32 `json:"heldNow"`

	// The number of pods that would have been held at some time since the dry run began.
	HeldTotal int32 `json:"heldTotal"`

	// The longest time in seconds that a pod would have been held so far.
	LongestSeconds int64 `json:"longestSeconds"`

	// The pods that would be held now, sorted, at most 100.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Pods []string `json:"pods,omitempty"`
}

// StartedOutOfOrderStatus are the pods that started too early: before their sequence existed, or because another scheduler placed them.
type StartedOutOfOrderStatus struct {
	// The number of these pods. If there are more than 100, a restart of podsequence-controller forgets those that pods does
	// not list.
	Total int32 `json:"total"`

	// The names of these pods, sorted, at most 100. A ClusterPodSequence has them as namespace/name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Pods []string `json:"pods,omitempty"`
}

// GroupStatus is the record of one group.
type GroupStatus struct {
	// The name of the group in the spec, or "Group <n>".
	Name string `json:"name"`

	// The number of pods the group waits for. For scope Node it is the sum over the nodes, and pods that have no node
	// yet.
	Expected int32 `json:"expected"`

	// The number of these pods that are ready.
	Ready int32 `json:"ready"`

	// The objects that the group waits for, in the order of the spec. The scheduler decides by what is recorded here.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Objects []ObjectStatus `json:"objects,omitempty"`

	// Where the group stands: Waiting (for earlier groups), InProgress (released, not ready yet), Passed, Failed or Skipped.
	// +optional
	Phase GroupPhase `json:"phase,omitempty"`

	// Deprecated, the same as in memory, for programs of earlier releases.
	// +optional
	ChangedAt *metav1.Time `json:"changedAt,omitempty"`

	// When the pods of the group were first released; in mode Continuous, when they were last released.
	// +optional
	ReleasedAt *metav1.Time `json:"releasedAt,omitempty"`

	// When the group was ready for the first time. After that its timeout no longer applies, except in mode Continuous after the group
	// is not ready any more.
	// +optional
	FirstSatisfiedAt *metav1.Time `json:"firstSatisfiedAt,omitempty"`

	// When the group became ready. Absent while it is not ready.
	// +optional
	SatisfiedAt *metav1.Time `json:"satisfiedAt,omitempty"`

	// When the group was passed: groups that wait for it did not have to wait for it from then on. In mode BootstrapOnly
	// passes has the record that counts.
	// +optional
	PassedAt *metav1.Time `json:"passedAt,omitempty"`

	// Deprecated, the same as in memory, for programs of earlier releases. Without it they would forget that groups were passed.
	// +optional
	Hash string `json:"hash,omitempty"`
}

// NodeStatus is how far a sequence of scope Node is on one node. A node takes part when a member of any group is bound to
// it, or a DaemonSet that a group selects should run on it.
type NodeStatus struct {
	// The name of the node.
	NodeName string `json:"nodeName"`

	// The 0-based index of the first group that is not passed on the node, of those that have pods there or a
	// DaemonSet that should; the number of groups if all are passed.
	CurrentIndex int32 `json:"currentIndex"`

	// The number of ready members of that group on the node.
	// +optional
	ReadyPodsInCurrentGroup int32 `json:"readyPodsInCurrentGroup,omitempty"`

	// When that group became ready on the node. Absent while it is not ready.
	// +optional
	SatisfiedAt *metav1.Time `json:"satisfiedAt,omitempty"`

	// InProgress, Failed, or Completed if every group is ready and a waitDuration is not over.
	// +optional
	Phase NodePhase `json:"phase,omitempty"`

	// The condition Ready. Its reason and message say what the node waits for. If the messages of all nodes are long, the last ones
	// are left out.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=4
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeSummary counts the nodes that take part in a sequence of scope Node.
type NodeSummary struct {
	// The number of nodes that take part.
	Total int32 `json:"total"`

	// The number of nodes on which every group is ready.
	Completed int32 `json:"completed"`

	// The number of nodes on which some group is not ready yet.
	Waiting int32 `json:"waiting"`
}
