package ordercheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

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

// putRecords takes in what a status says of objects.
func (w *world) putRecords(e event) (was objectRecords) {
	was = w.records[e.sequence.uid]
	if e.deleted {
		delete(w.records, e.sequence.uid)
		return was
	}
	now := objectRecords{}
	for of, record := range e.sequence.records {
		if record.counts = earlier(record.since, e.arrived); was[of].state == record.state && was[of].since.Equal(record.since) {
			record.counts = was[of].counts
		}
		now[of] = record
	}
	w.records[e.sequence.uid] = now
	return was
}

// withObjects adds to how the members of a group stand how its objects do.
func (v *version) withObjects(members outcome, g int, w *world) outcome {
	group, out := &v.groups[g], members
	if group.memberless {
		out = outcome{satisfied: true}
	}
	for _, of := range group.objects {
		record := w.records[v.uid][of]
		out.satisfied = out.satisfied && record.satisfied()
		out.since = later(out.since, record.counts)
	}
	if !out.satisfied {
		out.since = time.Time{}
	}
	return out
}

// followObjects brings this version, and those before it that still count, up to date with what a status says of objects. was is what it
// said before.
func (v *version) followObjects(was objectRecords, w *world, e event) {
	if !maps.Equal(was, w.records[v.uid]) {
		says := v.objectNews(was, w)
		switch {
		case v.perNode:
			for node, d := range v.nodes {
				v.weighAllOn(node, d, w, e, says)
			}
		default:
			touched := sets.New[int]()
			for g, group := range v.groups {
				if len(group.objects) > 0 {
					touched.Insert(g)
				}
			}
			v.reweigh(touched, w, e, says)
		}
	}
	if before := v.stillBefore(e); before != nil {
		before.followObjects(was, w, e)
	}
}

// objectNews returns the news of a status. An object that is satisfied since another time than before broke in between.
func (v *version) objectNews(was objectRecords, w *world) newsFor {
	return func(g int) news {
		var out news
		for _, of := range v.groups[g].objects {
			before, now := was[of], w.records[v.uid][of]
			if before == now || !now.satisfied() || now.since.IsZero() {
				continue
			}
			out.ready = true
			if before.satisfied() {
				out.again = later(out.again, now.counts)
			}
		}
		return out
	}
}

// lacksObjects says in words which objects a group waits for.
func (v *version) lacksObjects(g int, w *world) []string {
	var lacks []string
	for _, of := range v.groups[g].objects {
		record, known := w.records[v.uid][of]
		switch name := strings.TrimSpace(fmt.Sprintf("%s %s", of.Kind, of.Name)); {
		case record.satisfied():
		case !known:
			lacks = append(lacks, name+" was on no record")
		default:
			lacks = append(lacks, fmt.Sprintf("%s was recorded as %s", name, record.state))
		}
	}
	return lacks
}
