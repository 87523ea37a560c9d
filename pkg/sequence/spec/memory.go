package spec

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

// Completed reports whether status says that a group of requiredStatus Complete, which is still defined in the same way, was passed
// because it was complete. Earlier releases recorded only that it was passed, and that it was satisfied.
func (s *Sequence) Completed(status *v1alpha1.PodSequenceStatus, group int) bool {
	index := s.RecordIndex(status, group)
	if index < 0 || s.Groups[group].Required != v1alpha1.RequireComplete {
		return false
	}
	if s.Memory(status, group).Completed {
		return true
	}
	record := &status.Groups[index]
	return record.PassedAt != nil && record.FirstSatisfiedAt != nil
}

// Memory returns what status remembers of a group that is still defined in the same way; nothing if it does not remember the group.
func (s *Sequence) Memory(status *v1alpha1.PodSequenceStatus, group int) v1alpha1.GroupMemory {
	index, m := s.RecordIndex(status, group), status.Memory
	if m == nil || index < 0 || index >= len(m.Groups) {
		return v1alpha1.GroupMemory{}
	}
	return m.Groups[index]
}
