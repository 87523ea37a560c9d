package sequence

import (
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// What the writer of records of objects says in the words of the floors.

// ObjectRecords returns what status says of objects, by what it says them of, see spec.ObjectRecords.
func ObjectRecords(status *v1alpha1.PodSequenceStatus) map[v1alpha1.ObjectReference]*v1alpha1.ObjectStatus {
	return spec.ObjectRecords(status)
}

// ReferenceOf returns the reference that a record is of.
func ReferenceOf(record *v1alpha1.ObjectStatus) v1alpha1.ObjectReference {
	return spec.ReferenceOf(record)
}

// CutObjectMessages cuts the messages of objects so that the status of a sequence stays small. Whoever writes records calls it last.
func CutObjectMessages(groups []v1alpha1.GroupStatus) { report.CutObjectMessages(groups) }
