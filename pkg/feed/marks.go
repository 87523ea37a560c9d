package feed

import "time"

// maxMarks bounds what one inquiry remembers. Past it, later marks stand for earlier ones, which are then answered later.
const maxMarks = 64

// mark is a moment of the engine up to which something is to be known.
type mark struct {
	moment uint64
	// version is the newest of any event until then. Where versions can be compared, a watch that has reached it misses
	// nothing from before the moment.
	version string
	since   time.Time // when it was asked for
}

// marks are what waits for an answer, in order: neither moments nor versions ever fall.
type marks []mark

// add returns the marks with one more. One that an earlier mark stands for adds nothing.
func (m marks) add(moment uint64, version string, since time.Time) marks {
	if len(m) > 0 {
		last := &m[len(m)-1]
		if moment <= last.moment && !after(version, last.version) {
			return m
		}
		moment, version = max(moment, last.moment), latest(last.version, version)
		if len(m) == maxMarks {
			last.moment, last.version = moment, version
			return m
		}
	}
	return append(m, mark{moment, version, since})
}

// answered is how many of the marks are done with once everything up to a version, or up to a moment, is known.
func (m marks) answered(version string, moment uint64) int {
	n := 0
	for n < len(m) && (m[n].moment <= moment || !after(m[n].version, version)) {
		n++
	}
	return n
}
