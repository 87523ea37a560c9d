package ordercheck

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// revision is a resource version, which is an etcd revision. It is kept as a number because replaying compares
// revisions all the time, and because closing a gap steps through them one by one.
type revision uint64

// parseRevision rejects zero too: it stands for "any" and no object ever has it.
func parseRevision(resourceVersion string) (revision, error) {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse resource version: %w", err)
	}
	if n == 0 {
		return 0, fmt.Errorf("parse resource version: %q is none of an object", resourceVersion)
	}
	return revision(n), nil
}

func (r revision) String() string {
	return strconv.FormatUint(uint64(r), 10)
}

// History is what the referee saw, in as many words as replaying it takes.
type History struct {
	// start is the resource version from which on every change is recorded. Records up to it only say what was there.
	start revision
	// end is the resource version up to which every change is recorded.
	end revision
	// events holds one resource's changes in order, but resources mixed as they came. It is only ever appended to.
	events []event
	// gaps says, for people, why changes after end may be missing.
	gaps []string
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

// inOrder returns the events up to the end, by resource version.
func (h History) inOrder() []event {
	events := make([]event, 0, len(h.events))
	for _, e := range h.events {
		if e.revision <= h.end {
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		switch {
		case a.revision < b.revision:
			return -1
		case a.revision > b.revision:
			return 1
		}
		return 0
	})
	return events
}

// facts are what the referee keeps of an object.
type facts interface {
	key() types.NamespacedName
	// says tells whether replaying would take the other facts of the same object for these.
	says(other facts) bool
	// as puts the facts into an event.
	as(event) event
}
