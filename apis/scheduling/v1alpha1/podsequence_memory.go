package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SequenceMemory is what podsequence-scheduler and podsequence-controller must not forget when they restart. It is for these programs
// only: its form may change with every release.
type SequenceMemory struct {
	// What is remembered of each group, in the order of status.groups.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Groups []GroupMemory `json:"groups,omitempty"`

	// What is remembered of nodes, for scope Node only. Each entry is for all nodes of which the same is remembered.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Nodes []NodeMemory `json:"nodes,omitempty"`
}

// GroupMemory is what is remembered of one group.
type GroupMemory struct {
	// Identifies the definition of this group and of the groups that it waits for. A recorded pass counts while the hash is
	// the same. Absent while the namespace in spec.namespace does not allow the sequence, unless the group was passed before.
	// +optional
	Hash string `json:"hash,omitempty"`

	// When an edit last changed the definition of the group, or when the namespace in spec.namespace first allowed
	// the sequence after it had not. Absent if neither happened. The timeout of the group counts from then at the earliest.
	// +optional
	ChangedAt *metav1.Time `json:"changedAt,omitempty"`

	// Whether the group, of requiredStatus Complete, was passed because it was complete. It then stays ready when its finished pods
	// and Jobs are deleted. In mode Continuous, a new member ends that until it is complete.
	// +optional
	Completed bool `json:"completed,omitempty"`

	// Failures of Jobs of the group before this time are over, because a Job that was created at this time has completed.
	// +optional
	FailuresOverAt *metav1.Time `json:"failuresOverAt,omitempty"`

	// In mode Continuous, when the group was last ready and then was not ready any more. Absent once it is ready again. Its timeout
	// counts from then at the earliest.
	// +optional
	LostAt *metav1.Time `json:"lostAt,omitempty"`
}

// NodeMemory is what is remembered of some nodes.
type NodeMemory struct {
	// The 0-based indices of the groups that were not ready on these nodes within their timeout.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	TimedOut []int32 `json:"timedOut,omitempty"`

	// The 0-based indices of the groups that were ready on these nodes and are not ready now. Their timeouts
	// started again.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	ReadyBefore []int32 `json:"readyBefore,omitempty"`

	// Stands for the nodes: the first 6 bytes of the SHA-256 of each name, sorted and put together. Of 5,000 nodes that is
	// 40 KB, however long their names are.
	// +kubebuilder:validation:MaxLength=131072
	Nodes []byte `json:"nodes"`
}
