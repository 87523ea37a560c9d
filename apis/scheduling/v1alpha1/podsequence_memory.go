package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// SequenceMemory is what podsequence-scheduler and podsequence-controller must not forget when they restart. It is for these programs
// only: its form may change with every release.
type SequenceMemory struct {
	// What is remembered of each group, in the order of status.groups.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Groups []GroupMemory `json:"groups,omitempty"`
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

// GroupPass is the record that a group was passed.
type GroupPass struct {
	// The UID of the sequence that recorded it. A pass that a backup tool restored to a sequence with another UID does not count.
	UID types.UID `json:"uid"`

	// When that was recorded. Groups after it were released no earlier, and their timeouts count from then.
	At metav1.Time `json:"at"`

	// Whether it was passed because its timeout was over, with onTimeout Continue, and not because it was ready.
	// +optional
	TimedOut bool `json:"timedOut,omitempty"`
}
