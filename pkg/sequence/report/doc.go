// Package report turns what the engine has worked out into what people and programs read: the status of a PodSequence, the
// message of a pod that waits, and the problems of a sequence with their fixes. It consists of pure functions of plain values.
//
// The words: a Report is how far a sequence is. A Decision says whether a pod may be scheduled now, and if not, what it waits
// for. A fix is what somebody can do about a problem; every message of a problem names it.
package report
