package order

import (
	"cmp"
	"slices"
	"strings"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// A group may wait for more than its members, and have none at all. What it waits for then is the same wherever its members are: on a
// node it must hold also if nothing of the group is there.

// objectsOf returns the objects that a group names, in its order, each once, and with what they must reach.
func objectsOf(spec *v1alpha1.PodGroup) []v1alpha1.ObjectReference {
	var objects []v1alpha1.ObjectReference
	for _, object := range spec.Objects {
		object.Until = cmp.Or(object.Until, v1alpha1.UntilCurrent)
		if !slices.Contains(objects, object) {
			objects = append(objects, object)
		}
	}
	return objects
}

// definedObjects are the objects of a group as its hash covers them: their order does not matter.
func definedObjects(spec *v1alpha1.PodGroup) []v1alpha1.ObjectReference {
	objects := objectsOf(spec)
	slices.SortFunc(objects, compareObjects)
	return objects
}

func compareObjects(a, b v1alpha1.ObjectReference) int {
	return cmp.Or(strings.Compare(a.APIVersion, b.APIVersion), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Until, b.Until))
}

// isWithoutMembers reports whether a group has no members because its spec says so, and waits for something else.
func isWithoutMembers(spec *v1alpha1.PodGroup) bool {
	return len(spec.Pods) == 0 && spec.PodSelector == nil && (len(spec.Objects) > 0 || len(spec.NodeConditions) > 0)
}

// ObjectRecords returns what status says of objects, by what it says them of. Which group they are in makes no difference. If the state of
// an object changed while status was worked out, the first record counts: the next status has the new state.
func ObjectRecords(status *v1alpha1.PodSequenceStatus) map[v1alpha1.ObjectReference]*v1alpha1.ObjectStatus {
	var records map[v1alpha1.ObjectReference]*v1alpha1.ObjectStatus
	for i := range status.Groups {
		for j := range status.Groups[i].Objects {
			record := &status.Groups[i].Objects[j]
			if records == nil {
				records = map[v1alpha1.ObjectReference]*v1alpha1.ObjectStatus{}
			}
			if of := ReferenceOf(record); records[of] == nil {
				records[of] = record
			}
		}
	}
	return records
}

// ReferenceOf returns the reference that a record is of.
func ReferenceOf(record *v1alpha1.ObjectStatus) v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{
		APIVersion: record.APIVersion, Kind: record.Kind, Namespace: record.Namespace, Name: record.Name,
		Until: cmp.Or(record.Until, v1alpha1.UntilCurrent),
	}
}
