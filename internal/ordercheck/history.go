package ordercheck

import (
	"sort"
	"time"

	"example.com/podsequence/internal/revisions"
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
}

// sinceStart is the index of the first event that is a change and not what was there.
func (h History) sinceStart() int {
	return sort.Search(len(h.events), func(i int) bool { return h.events[i].revision > h.start })
}

// event is a change of one object: pod or sequence is set.
type event struct {
	revision revision
	arrived  time.Time
	deleted  bool
	pod      *podFacts
	sequence *sequenceFacts
}

// namespace is the one whose pods the event is about.
func (e event) namespace() string {
	if e.pod != nil {
		return e.pod.Namespace
	}
	return e.sequence.target
}

// facts are what the referee keeps of an object.
type facts interface {
	// says tells whether replaying would take the other facts of the same object for these.
	says(other facts) bool
	// as puts the facts into an event.
	as(event) event
}
