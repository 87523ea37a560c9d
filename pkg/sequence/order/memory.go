package order

import "example.com/podsequence/apis/scheduling/v1alpha1"

// Status remembers for the programs what cannot be seen in the world any more. Where status.memory is, it counts; a status of an
// earlier release has the same in groups.

// GroupRecord returns what status says of the group with this index there, with what it remembers of it.
func GroupRecord(status *v1alpha1.PodSequenceStatus, index int) v1alpha1.GroupStatus {
	record := status.Groups[index]
	record.Hash = recordedHash(status, index)
	if m := status.Memory; m != nil && index < len(m.Groups) && m.Groups[index].ChangedAt != nil {
		record.ChangedAt = m.Groups[index].ChangedAt
	}
	return record
}

// recordedHash returns the hash of a group in status. A memory that has no hash of it is not complete: then what is in groups counts,
// so that no pass is forgotten.
func recordedHash(status *v1alpha1.PodSequenceStatus, index int) string {
	if m := status.Memory; m != nil && index < len(m.Groups) && m.Groups[index].Hash != "" {
		return m.Groups[index].Hash
	}
	return status.Groups[index].Hash
}
