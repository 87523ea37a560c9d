package confirmation

import (
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
)

// Witness remembers that a group was satisfied for a moment, until it is known whether an event from before was missing.
//
// A Job that is deleted as soon as it is complete may be gone before the answer comes. The group was satisfied all the same,
// if nothing from before says otherwise; what happened afterwards does not matter, because a pass is permanent. So only
// groups that are passed permanently, without a wait, have one.
type Witness struct {
	Question // what must be known; its Moment is 0 while there is nothing to know
	// AsOf is the newest version of what the picture in which the group was satisfied consists of.
	AsOf string
	// Since is since when the group was satisfied.
	Since time.Time
	// Confirmed reports that the group was satisfied then.
	Confirmed bool
}

// Call notes that the group is satisfied as of a version, as far as everything known says, unless an earlier time is noted already.
func (w *Witness) Call(question Question, asOf string, since time.Time) {
	if w.Moment == 0 && !w.Confirmed {
		w.Question, w.AsOf, w.Since = question, asOf, since
	}
}

// Notice takes an event of a version that changed the group. One from before what was noted speaks against it: it was missing. So
// does one of which nobody can say when it happened.
func (w *Witness) Notice(version string, comparable bool) {
	if w.Waits() && (!comparable || !inventory.Behind(w.AsOf, version)) {
		w.Question = Question{}
	}
}

// Relisted takes the last list that matters to the group. If one came while an answer is awaited, nobody can say any more what there
// was when the group was satisfied: its watch never tells.
func (w *Witness) Relisted(last Question) {
	if w.Moment < last.Moment {
		w.Question = Question{}
	}
}

// Settle notes up to which moment nothing is missing.
func (w *Witness) Settle(known uint64) {
	if w.Waits() && known >= w.Moment {
		w.Question, w.Confirmed = Question{}, true
	}
}

// Waits reports whether an answer would help.
func (w *Witness) Waits() bool { return w.Moment > 0 }
