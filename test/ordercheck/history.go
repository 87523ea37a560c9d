package ordercheck

import (
	"sort"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/test/revisions"
)

type revision = revisions.Revision

// History is what the referee saw, in as many words as replaying it takes.
type History struct {
	// start is the resource version from which on every change is recorded. Records up to it only say what was there.
	start revision
	// end is the resource version up to which every change is recorded.
	end revision
	// events are in order: what was there first, then each change. They are only ever appended to.
	events []event
	// gaps says, for people, why changes after end may be missing.
	gaps []string
	// audits are what became of the claims of statuses about objects, in order.
	audits []audit
	// stops are the times during which a scheduler was stopped.
	stops []Stop
	// lags are the times during which a program of ours was shown what had been.
	lags []Lag
}

// Stop is a time during which a scheduler was stopped in its tracks. What it had decided before, it does after.
type Stop struct {
	From, To time.Time
}

// Lag is a time during which the API server showed a program of ours what had been so much earlier.
type Lag struct {
	From, To time.Time
	By       time.Duration
}

// sinceStart is the index of the first event that is a change and not what was there.
func (h History) sinceStart() int {
	return sort.Search(len(h.events), func(i int) bool { return h.events[i].revision > h.start })
}

// event is a change of one object: pod, sequence, workload, node, home or definition is set.
type event struct {
	revision revision
	// arrived is when the referee heard of it, so it happened no later.
	arrived time.Time
	// earliest is the newest time that the API wrote into anything up to here, so it happened no earlier. The API
	// writes whole seconds, cut off.
	earliest time.Time
	deleted  bool
	pod      *podFacts
	sequence *sequenceFacts
	workload *workloadFacts
	node     *nodeFacts
	home     *namespaceFacts // a namespace
	// definition is of a kind of custom resource.
	definition *definitionFacts
}

// namespace is the one whose pods the event is about; that of a node and of a ClusterPodSequence is none.
func (e event) namespace() string {
	switch {
	case e.pod != nil:
		return e.pod.Namespace
	case e.workload != nil:
		return e.workload.Namespace
	case e.sequence != nil:
		return e.sequence.target
	case e.home != nil:
		return e.home.name
	}
	return ""
}

// facts are what the referee keeps of an object.
type facts interface {
	// says reports whether replaying would take the other facts of the same object for these.
	says(other facts) bool
	// as puts the facts into an event.
	as(event) event
	// stamped is the newest time that the API wrote into the object, zero if there is none.
	stamped() time.Time
}

func nameOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// newestStamp is when an object was last written, as far as it and some other times in it say. Times to come are none of the
// API server's.
func newestStamp(object metav1.Object, others ...time.Time) time.Time {
	stamps := append(others, object.GetCreationTimestamp().Time)
	for _, fields := range object.GetManagedFields() {
		if fields.Time != nil {
			stamps = append(stamps, fields.Time.Time)
		}
	}
	now := time.Now()
	var newest time.Time
	for _, stamp := range stamps {
		if !stamp.After(now) {
			newest = later(newest, stamp)
		}
	}
	return newest
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
