package ordercheck

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// The referee takes what a status records of an object for the fact about it, from the resource version on at which that was written.
// Whether the record can be true is what the auditor finds out.

// objectRecord is what a status says of an object.
type objectRecord struct {
	state v1alpha1.ObjectState
	since time.Time // zero if it is not satisfied, and if the status does not say
	// counts is since when it counts as satisfied: a time in the future is when the referee heard of it.
	counts time.Time
}

func (r objectRecord) satisfied() bool { return r.state == v1alpha1.ObjectSatisfied }

// objectRecords are those of one sequence.
type objectRecords map[v1alpha1.ObjectReference]objectRecord

// then returns the records after a status has come to say what it says now.
func (r objectRecords) then(says objectRecords, arrived time.Time) objectRecords {
	now := objectRecords{}
	for of, record := range says {
		if record.counts = earlier(record.since, arrived); r[of].state == record.state && r[of].since.Equal(record.since) {
			record.counts = r[of].counts
		}
		now[of] = record
	}
	return now
}

// readRecords returns what the status of a sequence says of objects. Of two records of one object the one that lets less happen counts.
func readRecords(sequence *v1alpha1.PodSequence) objectRecords {
	if sequence.Status.ObservedUID != "" && sequence.Status.ObservedUID != sequence.UID {
		return nil // a backup tool restored it
	}
	records := objectRecords{}
	for _, group := range sequence.Status.Groups {
		for _, status := range group.Objects {
			of := v1alpha1.ObjectReference{APIVersion: status.APIVersion, Kind: status.Kind, Namespace: status.Namespace, Name: status.Name, Until: status.Until}
			record := objectRecord{state: status.State}
			if status.Since != nil && record.satisfied() {
				record.since = status.Since.Time
			}
			of = plain(of)
			if other, twice := records[of]; !twice || other.satisfied() && (!record.satisfied() || other.since.Before(record.since)) {
				records[of] = record
			}
		}
	}
	return records
}

// plain is the reference with what it requires by default.
func plain(of v1alpha1.ObjectReference) v1alpha1.ObjectReference {
	if of.Until == "" {
		of.Until = v1alpha1.UntilCurrent
	}
	return of
}

// readObjects returns the objects of a group, in no order.
func readObjects(group *v1alpha1.PodGroup) []v1alpha1.ObjectReference {
	var objects []v1alpha1.ObjectReference
	for _, of := range group.Objects {
		if of = plain(of); !slices.Contains(objects, of) {
			objects = append(objects, of)
		}
	}
	slices.SortFunc(objects, func(a, b v1alpha1.ObjectReference) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return objects
}

// isMemberless reports whether a group waits for something else than members.
func isMemberless(group *v1alpha1.PodGroup) bool {
	return len(group.Pods) == 0 && group.PodSelector == nil && (len(group.Objects) > 0 || len(group.NodeConditions) > 0)
}
