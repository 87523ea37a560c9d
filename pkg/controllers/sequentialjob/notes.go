package sequentialjob

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// What pods say may change all the time: a container that crashes says so between its restarts only. Status repeats the first word at
// once and then takes up a change after quietAtFirst, then after twice as long, and so on up to quietAtMost.
const (
	quietAtFirst = 10 * time.Second
	quietAtMost  = 10 * time.Minute
)

// notes remember what status says of the pods of steps, so that a status is not written whenever a pod changes its mind. A process that
// has just started remembers nothing, and writes at most once more.
type notes struct {
	lock  sync.Mutex
	notes map[types.NamespacedName]note
}

// note is what was heard of the pods of one Job.
type note struct {
	job   types.UID
	heard word // what they said last
	said  word // what status says
	at    time.Time
	quiet time.Duration // from at on
}

func newNotes() *notes { return &notes{notes: map[types.NamespacedName]note{}} }

// take notes what the pods of a Job say. any is false if there are none: then what the last one said stands.
func (n *notes) take(key types.NamespacedName, job types.UID, heard word, any bool, now time.Time) note {
	n.lock.Lock()
	defer n.lock.Unlock()
	known, ok := n.notes[key]
	if !ok || known.job != job {
		known = note{job: job}
		if heard == (word{}) {
			delete(n.notes, key)
			return known
		}
	}
	if any {
		known.heard = heard
	}
	switch {
	case known.heard == known.said:
	case now.Before(known.at.Add(known.quiet)) && !known.isRelief():
	default:
		isCalm := now.After(known.at.Add(2 * known.quiet))
		known.quiet = max(quietAtFirst, min(2*known.quiet, quietAtMost))
		if isCalm {
			known.quiet = quietAtFirst
		}
		known.said, known.at = known.heard, now
	}
	n.notes[key] = known
	return known
}

// isRelief reports whether a pod runs after all: the first time, status says so at once.
func (n note) isRelief() bool { return n.said.waits && !n.heard.waits && n.quiet == quietAtFirst }

// due is when status is to say something else; zero for never.
func (n note) due() time.Time {
	if n.heard == n.said {
		return time.Time{}
	}
	return n.at.Add(n.quiet)
}

func (n *notes) forget(key types.NamespacedName) {
	n.lock.Lock()
	defer n.lock.Unlock()
	delete(n.notes, key)
}
