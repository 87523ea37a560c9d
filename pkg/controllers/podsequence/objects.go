package podsequence

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/controllers/podsequence/objectwatch"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
)

// objectWatcher says how the objects are that sequences wait for. An objectwatch.Watcher is one.
type objectWatcher interface {
	Want(sequence types.NamespacedName, references []v1alpha1.ObjectReference)
	Forget(sequence types.NamespacedName)
	Observe(sequence types.NamespacedName, reference *v1alpha1.ObjectReference) (o objectwatch.Observation, known bool)
}

// recordOf returns the record of an object. Since when it is satisfied it takes from what is recorded, if it was not otherwise in between, as
// far as anybody can know: the object may not say, or may say when it was before it was otherwise for a while that it does not tell of. What
// is recorded it was when status was written.
func recordOf(reference *v1alpha1.ObjectReference, o objectwatch.Observation, before *v1alpha1.ObjectStatus, written time.Time) v1alpha1.ObjectStatus {
	status := v1alpha1.ObjectStatus{
		APIVersion: reference.APIVersion, Kind: reference.Kind, Namespace: reference.Namespace, Name: reference.Name, Until: reference.Until,
		UID: o.UID, Generation: o.Generation, State: o.State, Message: o.Message,
	}
	if o.State != v1alpha1.ObjectSatisfied {
		return status
	}
	isSame := before != nil && before.UID == o.UID
	switch wasSo := isSame && before.State == v1alpha1.ObjectSatisfied && before.Since != nil; {
	case wasSo && !o.Turned && !before.Since.Time.Before(o.Since):
		status.Since = before.Since.DeepCopy()
	case !o.Since.IsZero() && !(isSame && before.State == v1alpha1.ObjectWaiting && o.Since.Before(written)):
		status.Since = new(metav1.NewTime(o.Since))
	default:
		status.Since = new(metav1.NewTime(o.Seen))
	}
	status.Since.Time = status.Since.Truncate(time.Second) // as the API server keeps it
	return status
}

// withObjects puts the records of objects into a status.
func withObjects(status *v1alpha1.PodSequenceStatus, records [][]v1alpha1.ObjectStatus) {
	for i := range status.Groups[:min(len(status.Groups), len(records))] {
		status.Groups[i].Objects = records[i]
	}
	report.CutObjectMessages(status.Groups)
}

// turnsObjects reports whether a status says of some object that it is in another state than the one before it. The scheduler decides
// by that.
func turnsObjects(before, after v1alpha1.PodSequenceStatus) bool {
	was := order.ObjectRecords(&before)
	return slices.ContainsFunc(after.Groups, func(group v1alpha1.GroupStatus) bool {
		return slices.ContainsFunc(group.Objects, func(now v1alpha1.ObjectStatus) bool {
			other := was[order.ReferenceOf(&now)]
			return other == nil || other.State != now.State || other.UID != now.UID
		})
	})
}
