package sequence

import (
	"math"

	"example.com/podsequence/pkg/sequence/inventory"
)

// at makes the transaction of an event of this version. The compiler inlines it, so that the transaction of a pod's event is on the
// stack.
func (q *questions) at(version string) *transaction {
	return &transaction{Question: q.nextMoment(version), version: version}
}

// nextMoment counts an event of this version. Who misses nothing from before a later moment misses nothing from before an earlier one:
// the question is about the newest version, whatever that of the event.
func (q *questions) nextMoment(version string) Question {
	if inventory.Behind(q.newest, version) {
		q.newest = version
	}
	return Question{Moment: q.moment.Add(1), Version: q.newest}
}

// relistedAt makes the transaction of a list of this version.
func (q *questions) relistedAt(version string) *transaction {
	tx := q.at(version)
	tx.relisted = true
	return tx
}

// relistedOf makes the transaction of a list of what questions about these kinds are about.
func (q *questions) relistedOf(kinds Kinds, version string) *transaction {
	tx := q.relistedAt(version)
	q.relisted.Add(kinds, tx.Question)
	return tx
}

// confirm notes that no event of a subject is missing that had happened at a moment.
func (q *questions) confirm(subject Subject, moment uint64, tx *transaction) {
	u := q.unconfirmed[subject.Namespace]
	if u == nil || !u.known.Confirm(subject.Kinds, moment) {
		return
	}
	for d := range u.domains {
		tx.markDirty(d)
	}
	for p := range u.pods {
		q.forgetPod(p)
		tx.dirtyPods = append(tx.dirtyPods, p)
	}
	u.domains, u.pods = map[*domain]struct{}{}, map[*pod]struct{}{} // what is still unconfirmed comes back
	if len(q.askedForPod) == 0 {
		q.askedForPod = map[*pod][]Subject{} // a map keeps the room that it once needed
	}
}

// known is the moment up to which no event of the subject is missing.
func (q *questions) known(subject Subject) uint64 {
	known := uint64(0)
	if u := q.unconfirmed[subject.Namespace]; u != nil {
		known = u.known[subject.Kinds]
	}
	if everywhere := q.unconfirmed[""]; everywhere != nil {
		known = max(known, everywhere.known[subject.Kinds])
	}
	return known
}

// knownOfAll is the moment up to which no event of any of the subjects is missing.
func (q *questions) knownOfAll(subjects []Subject) uint64 {
	known := uint64(math.MaxUint64)
	for _, subject := range subjects {
		known = min(known, q.known(subject))
	}
	return known
}

func (q *questions) unconfirmedIn(namespace string) *unconfirmed {
	u := q.unconfirmed[namespace]
	if u == nil {
		u = &unconfirmed{domains: map[*domain]struct{}{}, pods: map[*pod]struct{}{}}
		q.unconfirmed[namespace] = u
	}
	return u
}

// forgetPod withdraws what a pod asked, and forgetDomain what a domain asked: an answer no longer re-evaluates them.
func (q *questions) forgetPod(p *pod) {
	for _, subject := range q.askedForPod[p] {
		if u := q.unconfirmed[subject.Namespace]; u != nil {
			delete(u.pods, p)
		}
	}
	delete(q.askedForPod, p)
}

func (q *questions) forgetDomain(d *domain) {
	for _, subject := range d.asks {
		if u := q.unconfirmed[subject.Namespace]; u != nil {
			delete(u.domains, d)
		}
	}
	d.asks = nil
}

// nowMoment is a question about everything until now.
func (q *questions) nowMoment() Question { return Question{Moment: q.moment.Load(), Version: q.newest} }

// asOfNow makes it the transaction of what time brought about, at this moment.
func (tx *transaction) asOfNow(q *questions) {
	if tx.Moment == 0 {
		tx.Question, tx.version = q.nextMoment(q.newest), q.newest
	}
}
