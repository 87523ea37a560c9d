package ordercheck

import (
	"maps"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// pod is one pod, from its creation to its deletion.
type pod struct {
	*podFacts          // as of now
	created   revision // zero when it is older than the watch
	ungated   revision // since when it has had no gate of any kind: nobody can bind it before; never while it has one
	// lifted are the sequences whose gate the pod lost while it belonged to another scheduler than ours. Nobody can hold it
	// afterwards.
	lifted    map[types.UID]lift
	readySeen time.Time // since when a scheduler may take it for ready, at the earliest; zero when it is not
	markSeen  marks     // the same for what else it has
	nowhere   bool      // see isNowhere
	// labelledSince is since when it has had its labels, namesSince since when that which names a PodSequence.
	labelledSince, namesSince moment
	// releasedLacking is what it lacked when it lost our gates.
	releasedLacking *lack
}

// never is later than any revision.
const never revision = math.MaxInt64

// lift is how a pod lost the gate of a sequence.
type lift struct {
	inOrder bool // the sequence had released it
	raced   bool // what the sequence says is younger than the pod, and no more than 2 s older than the lift
}

// noteLabels notes since when the pod has the labels that it has now. Those that the API server gives it with its node, such as the
// zone of that, are none that a scheduler went by.
func (p *pod) noteLabels(f *podFacts, e event) {
	isNew := p.uid != f.uid
	if !isNew && p.node == "" && f.node != "" {
		return
	}
	if isNew || !maps.Equal(p.labels, f.labels) {
		p.labelledSince = momentOf(e)
	}
	if isNew || p.labels[v1alpha1.SequenceLabel] != f.labels[v1alpha1.SequenceLabel] {
		p.namesSince = momentOf(e)
	}
}

// startsUnseen reports whether nothing holds the pod before a scheduler has seen its sequence: it names none, and never had a gate.
func (p *pod) startsUnseen() bool {
	return p.ungated == p.created && p.labels[v1alpha1.SequenceLabel] == ""
}

// has reports whether the pod has reached as of now what a group requires of its members: on a node that is gone it has reached nothing.
func (p *pod) has(reached v1alpha1.RequiredStatus) bool { return p.podFacts.has(reached) && !p.nowhere }

// reachedSeen is the earliest that the pod can have come to what is required.
func (p *pod) reachedSeen(reached v1alpha1.RequiredStatus) time.Time {
	if isMark(reached) {
		return p.markSeen[reached]
	}
	return p.readySeen
}

// noteMarks notes the earliest that the pod can have come to what it has now, before its facts are replaced by these.
func (p *pod) noteMarks(f *podFacts, e event) {
	seen := marks{}
	for reached, at := range f.marks {
		before, had := time.Time{}, false
		if p.podFacts.marks != nil {
			before, had = p.podFacts.marks[reached]
		}
		switch {
		case had && before.Equal(at):
			seen[reached] = p.markSeen[reached]
		case at.IsZero():
			seen[reached] = e.earliest
		default:
			seen[reached] = earlier(f.told(reached), e.earliest)
		}
	}
	p.markSeen = seen
}
