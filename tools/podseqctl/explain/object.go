package explain

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// objects explains the objects that a group lacks, in the words in which podsequence-controller recorded them. Of a sequence among them it
// explains what that waits for.
func (e *Explainer) objects(s *snapshot.Sequence, i int) []Reason {
	var reasons []Reason
	for _, object := range e.Awaited(s, i) {
		if object.State == v1alpha1.ObjectSatisfied {
			continue
		}
		said := strings.TrimPrefix(object.String(), object.Name()+" ")
		r := Reason{Subject: e.objectName(object), State: Waiting, Message: strings.TrimPrefix(said, "is ")}
		switch object.State {
		case v1alpha1.ObjectNotReadable:
			r.State = Stuck
		case v1alpha1.ObjectNotFound:
			r.State = Held
		default:
			if other := e.sequenceOf(s, object); other != nil {
				r.State, r.Because = Held, []Reason{e.below(other.String(), other.String(), func() Reason { return e.Sequence(other) })}
			}
		}
		if object.Until != v1alpha1.UntilCurrent && object.State == v1alpha1.ObjectWaiting {
			r.Message += fmt.Sprintf(" (until %s)", object.Until)
		}
		reasons = append(reasons, r)
	}
	return reasons
}

// objectName names an object without the user's own namespace.
func (e *Explainer) objectName(object sequence.Object) string {
	return object.Kind + " " + e.short(object.Namespace, object.ObjectReference.Name)
}

// sequenceOf returns the sequence that the object is; nil if it is none, or is not known.
func (e *Explainer) sequenceOf(s *snapshot.Sequence, object sequence.Object) *snapshot.Sequence {
	group, _, _ := strings.Cut(object.APIVersion, "/")
	if group != v1alpha1.GroupVersion.Group {
		return nil
	}
	key := types.NamespacedName{Namespace: object.Namespace, Name: object.ObjectReference.Name}
	switch object.Kind {
	case v1alpha1.PodSequenceKind.Kind:
		if !s.IsCluster() {
			key.Namespace = s.Key().Namespace
		}
	case v1alpha1.ClusterPodSequenceKind.Kind:
	default:
		return nil
	}
	return e.Snapshot.Sequence(key)
}
