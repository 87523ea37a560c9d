package confirmation

import "example.com/podsequence/pkg/sequence/inventory"

// Kinds are the kinds of objects that a question is about. Each includes all that are before it.
type Kinds uint8

const (
	// OfPods is pods only: nothing else matters to a group of named pods.
	OfPods Kinds = iota
	// OfDaemonSets is pods and DaemonSets: nothing else matters on a node.
	OfDaemonSets
	// OfWorkloads is pods and all kinds of workloads.
	OfWorkloads
	// OfNamespaces is Namespaces, and nothing else: which there are, and with which labels. It is asked without a namespace.
	OfNamespaces
)

// KindsWith returns the fewest that have a kind.
func KindsWith(kind inventory.Kind) Kinds {
	switch kind {
	case inventory.KindPod:
		return OfPods
	case inventory.KindDaemonSet:
		return OfDaemonSets
	}
	return OfWorkloads
}

// Subject is what a question is about, and where.
type Subject struct {
	// Namespace is empty for all namespaces.
	Namespace string
	Kinds     Kinds
}

// Question asks for everything to be made known that there was when it arose. Engine.Confirm answers.
type Question struct {
	// Moment is when it arose, see Engine.Moment.
	Moment uint64
	// Version is the newest that was known then. Where resource versions of different kinds can be compared, a watch that has come
	// past it misses nothing from before it.
	Version string
}

// And returns a question whose answer answers both.
func (q Question) And(other Question) Question {
	q.Moment = max(q.Moment, other.Moment)
	if inventory.Behind(q.Version, other.Version) {
		q.Version = other.Version
	}
	return q
}

// Questions are what is asked, by subject.
type Questions map[Subject]Question

// Add adds a question; one answer must do for all about the same subject.
func (q Questions) Add(subject Subject, question Question) {
	q[subject] = q[subject].And(question)
}

// Known are the moments up to which no event is missing in one namespace, or in all, by what questions are about.
type Known [OfNamespaces + 1]uint64

// Confirm notes that no event about some kinds is missing up to a moment. It reports whether that is news.
func (k *Known) Confirm(kinds Kinds, moment uint64) bool {
	if k[kinds] >= moment {
		return false
	}
	if kinds == OfNamespaces {
		k[kinds] = moment
		return true
	}
	for i := range k[:kinds+1] {
		k[i] = max(k[i], moment)
	}
	return true
}

// Relisted are questions about everything until the last list of a kind, by what questions are about that the list matters to.
type Relisted [OfNamespaces + 1]Question

// Add takes a list of the fewest kinds that have what is listed.
func (r *Relisted) Add(kinds Kinds, list Question) {
	if kinds == OfNamespaces {
		r[kinds] = list
		return
	}
	for i := kinds; i < OfNamespaces; i++ {
		r[i] = list
	}
}

// Of returns the last list that matters to some subjects.
func (r *Relisted) Of(subjects []Subject) (last Question) {
	for _, subject := range subjects {
		last = last.And(r[subject.Kinds])
	}
	return last
}
