package v1alpha1

// Phase sums up in one word how far the pods of a sequence have come. Whether it holds pods is another question: see State.
//
// +kubebuilder:validation:Enum=Pending;InProgress;Completed;Failed
type Phase string

// The phases of a sequence.
const (
	// PhasePending: no member of any group exists yet and the first group is neither passed nor skipped, or the namespace in
	// spec.namespace does not allow the sequence.
	PhasePending Phase = "Pending"
	// PhaseInProgress: some group is not passed, and none has failed. In mode Continuous and for scope Node a sequence that was
	// Completed comes back to it when a group is not ready any more, or a new pod or node takes part.
	PhaseInProgress Phase = "InProgress"
	// PhaseCompleted: every group is passed or skipped; for scope Node every group is ready on every node that takes part, and all pods
	// have a node. In mode BootstrapOnly this is permanent until an edit adds a group or changes one: it does not say that pods are
	// ready now, as the condition Ready does.
	PhaseCompleted Phase = "Completed"
	// PhaseFailed: the current group, or one of them, for scope Node on some node, will not become ready unless somebody acts: a Job
	// or a pod that nobody replaces has failed, or the group was not ready within its timeout. The groups that wait for it stay held.
	// A timeout with onTimeout Continue and what happens in a skipped group are no failures. The phase changes by itself when the
	// group becomes ready after all.
	PhaseFailed Phase = "Failed"
)

// States of a sequence other than the types of conditions that it has while they are true, see PodSequenceStatus.State.
const (
	// StateActive: the sequence does what its spec says, and holds and releases pods in order.
	StateActive = "Active"
)

// GroupPhase sums a group up in one word.
//
// +kubebuilder:validation:Enum=Waiting;InProgress;Passed;Failed;Skipped
type GroupPhase string

// The phases of a group.
const (
	GroupWaiting    GroupPhase = "Waiting"    // an earlier group is not passed, or the sequence is suspended
	GroupInProgress GroupPhase = "InProgress" // released, not yet passed: some pod is not ready, or its waitDuration is not over
	GroupPassed     GroupPhase = "Passed"     // no group waits for it any more; with onTimeout Continue also because it was too late
	GroupFailed     GroupPhase = "Failed"     // released, and failed or too late; the groups that wait for it stay held
	GroupSkipped    GroupPhase = "Skipped"    // the spec or an annotation skips it: no group waits for it, whatever its pods do
)

// NodePhase sums up in one word how far a node is.
//
// +kubebuilder:validation:Enum=InProgress;Completed;Failed
type NodePhase string

// The phases of a node.
const (
	NodeInProgress NodePhase = "InProgress" // some group that has pods or a due DaemonSet there is not satisfied
	NodeCompleted  NodePhase = "Completed"  // every group that has pods or a due DaemonSet there is satisfied, or skipped
	NodeFailed     NodePhase = "Failed"     // a group failed there, or was too late with onTimeout Fail
)
