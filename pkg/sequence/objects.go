package sequence

import (
	"slices"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// readObjects takes from status what is recorded of the objects that groups wait for. It returns the groups of which something else is
// recorded than was, and not only in other words, which an object may have each second: only the report of the sequence has these. old is the sequence itself, or what it takes the place of; nil if there is none.
//
// An object that is Satisfied without a time is so since the engine first saw that.
func (s *sequence) readObjects(old *sequence, now time.Time) (changed spec.GroupSet) {
	if !slices.ContainsFunc(s.groups, func(g *group) bool { return len(g.Objects) > 0 }) {
		return 0
	}
	before := map[v1alpha1.ObjectReference]readiness.Object{}
	if old != nil && old.UID == s.UID {
		for _, g := range old.groups {
			for _, object := range g.objects {
				before[object.ObjectReference] = object
			}
		}
	}
	records := spec.ObjectRecords(&s.object.Status)
	for i, g := range s.groups {
		g.objects = make(readiness.Objects, len(g.Objects))
		for j, reference := range g.Objects {
			was := before[reference]
			g.objects[j] = readObject(reference, records[reference], was, now)
			was.Message = g.objects[j].Message
			if g.objects[j] != was {
				changed.Add(i)
			}
		}
	}
	return changed
}

// readObject returns what a record, which may be nil, says of an object. before is what was known of it.
func readObject(reference v1alpha1.ObjectReference, record *v1alpha1.ObjectStatus, before readiness.Object, now time.Time) readiness.Object {
	object := readiness.Object{ObjectReference: reference}
	if record == nil {
		return object
	}
	object.State, object.UID, object.Message = record.State, record.UID, record.Message
	switch {
	case object.State != v1alpha1.ObjectSatisfied:
	case record.Since != nil:
		object.Since = record.Since.UTC()
	case before.State == v1alpha1.ObjectSatisfied && before.UID == object.UID:
		object.Since = before.Since
	default:
		object.Since = now.Truncate(time.Second)
	}
	return object
}

// unreadableObjects reports the objects that podsequence-controller cannot read, and that a group waits for which is not passed.
func (s *sequence) unreadableObjects() (problem spec.Problem, ok bool) {
	group, unreadable := 0, readiness.Objects(nil)
	for i, g := range s.groups {
		if g.Skip || (!s.PerNode && s.nodeless.Passed.Has(i)) {
			continue
		}
		for _, object := range g.objects {
			if object.State != v1alpha1.ObjectNotReadable {
				continue
			}
			if len(unreadable) == 0 {
				group = i
			}
			unreadable = append(unreadable, object)
		}
	}
	if len(unreadable) == 0 {
		return spec.Problem{}, false
	}
	return report.UnreadableObjects(s.where(group), unreadable[0], len(unreadable)-1), true
}
