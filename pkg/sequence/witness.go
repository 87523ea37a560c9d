package sequence

import (
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
)

// witness remembers that a group was satisfied for a moment, until it is known whether an event from before was missing.
//
// A Job that is deleted as soon as it is complete may be gone before the answer comes. The group was satisfied all the same,
// if nothing from before says otherwise; what happened afterwards does not matter, because a pass is permanent. So only
// groups that are passed permanently, without a wait, have one.
type witness struct {
	Question // what must be known; its Moment is 0 while there is nothing to know
	since    time.Time
	// confirmed reports that the group was satisfied then.
	confirmed bool
}

// call notes that the group is satisfied as far as everything known says, unless an earlier time is noted already.
func (w *witness) call(question Question, since time.Time) {
	if w.Moment == 0 && !w.confirmed {
		w.Question, w.since = question, since
	}
}

// notice takes an event that changed the group. One from before what was noted speaks against it: it was missing. So does
// one of which nobody can say when it happened.
func (w *witness) notice(tx *transaction, e *Engine) {
	if tx.relisted || e.split || !inventory.Behind(w.Version, tx.Version) {
		w.Question = Question{}
	}
}

// settle notes up to which moment nothing is missing.
func (w *witness) settle(known uint64) {
	if w.waits() && known >= w.Moment {
		w.Question, w.confirmed = Question{}, true
	}
}

// waits reports whether an answer would help.
func (w *witness) waits() bool { return w.Moment > 0 }
