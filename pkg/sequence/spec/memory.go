package spec

import (
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

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
	if m := status.Memory; m != nil && index < len(m.Groups) && m.Groups[index].Completed {
		return true
	}
	record := &status.Groups[index]
	return record.PassedAt != nil && record.FirstSatisfiedAt != nil
}

// FailuresOverAt returns before when status says that failures of Jobs are over, of a group that is still defined in the same way; zero if
// it does not say.
func (s *Sequence) FailuresOverAt(status *v1alpha1.PodSequenceStatus, group int) time.Time {
	if index, m := s.RecordIndex(status, group), status.Memory; m != nil && index >= 0 && index < len(m.Groups) && m.Groups[index].FailuresOverAt != nil {
		return m.Groups[index].FailuresOverAt.Time
	}
	return time.Time{}
}

// LostAt returns when a group was lost that was satisfied before, as status says, if it is still defined in the same way; zero if it does
// not say.
func (s *Sequence) LostAt(status *v1alpha1.PodSequenceStatus, group int) time.Time {
	if index, m := s.RecordIndex(status, group), status.Memory; m != nil && index >= 0 && index < len(m.Groups) && m.Groups[index].LostAt != nil {
		return m.Groups[index].LostAt.Time
	}
	return time.Time{}
}
