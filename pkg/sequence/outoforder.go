package sequence

import (
	"slices"
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
)

// outOfOrder are the members that started out of order.
type outOfOrder struct {
	of   *sequence
	pods map[*pod]struct{} // nil if there are none
	// checks reports that this engine is the first to see the sequence.
	checks bool
	// from is when this engine first saw the sequence. It judges pods of other schedulers that are bound since, even if it was not the first.
	from time.Time
}

// Nothing holds a pod before its sequence exists. Tools that create workloads first let pods of later groups start too early, and the
// sequence cannot take that back. So it reports the members that our scheduler bound before the sequence was created, while a group
// that they wait for was not passed. Nothing holds a pod of another scheduler that carries no gate either: it is judged like them,
// whenever it was bound.
//
// The engine that is the first to see a sequence, as its status says, judges its members: those that it knows, and those whose
// binding its watch of pods brings later. Status keeps the names. Every other engine takes them from there. Of pods that were bound
// before it saw the sequence it judges nobody, because a group may have become ready, or broken, since. A pod leaves the list when it
// is gone, has ended, or waits for no group any more.

// oneInstallation is the time in which the objects of one installation are created. Of pods that were bound longer ago nothing shows in
// which order they started: the groups before them may have been ready then, and updated since.
const oneInstallation = 10 * time.Minute

// begin begins to check the order of the members of a sequence that the engine sees for the first time. For other sequences it takes the names
// from status, or keeps those that the sequence had before it was edited. The pods are those that were or are members.
func (o *outOfOrder) begin(old *sequence, pods map[*pod]struct{}, tx *transaction) {
	s := o.of
	o.from = s.knowledge.now.Truncate(time.Second) // as the API gives times of binding
	switch {
	case old != nil && old.UID == s.UID:
		o.checks, o.from = old.outOfOrder.checks && s.canCheckOrder(), old.outOfOrder.from
		for p := range old.outOfOrder.pods {
			if m, is := p.membershipIn(s); is && m.mayHaveStartedEarly(p) {
				o.add(p)
			}
		}
	case s.object.Status.ObservedGeneration < 1:
		o.checks = s.canCheckOrder()
		for p := range pods {
			o.queue(p, tx)
		}
	case s.object.Status.StartedOutOfOrder != nil:
		names, written := s.object.Status.StartedOutOfOrder.Pods, order.WrittenAt(s.object)
		for p := range pods {
			isNamesake := !written.IsZero() && p.BoundAt.Time().After(written)
			if m, is := p.membershipIn(s); is && m.mayHaveStartedEarly(p) && slices.Contains(names, s.nameOf(p)) && !isNamesake {
				o.add(p)
			}
		}
	}
}

// queueOrderChecks adds a pod to those whose order its sequences check. The pod has just been seen to be bound.
func queueOrderChecks(p *pod, tx *transaction) {
	for _, m := range p.memberships() {
		o := &m.sequence.outOfOrder
		if o.checks || (!m.sequence.knowledge.settings.isOurs(p) && !o.from.IsZero() && !p.BoundAt.Time().Before(o.from)) {
			o.queue(p, tx)
		}
	}
}

// queue adds the pod, if it may have started early, to those that are checked when the transaction is settled.
func (o *outOfOrder) queue(p *pod, tx *transaction) {
	if m, is := p.membershipIn(o.of); is && m.mayHaveStartedEarly(p) {
		tx.toCheckOrder = append(tx.toCheckOrder, podInSequence{p, o.of})
	}
}

// checkOrder finds out which pods of a transaction started out of order.
func checkOrder(tx *transaction, now time.Time) {
	ready := map[*groupState]time.Time{}
	for _, judged := range tx.toCheckOrder {
		if m, is := judged.membershipIn(judged.in); is && judged.in.registered && m.notPassedAtBinding(judged.pod, now, ready) != 0 {
			judged.in.outOfOrder.add(judged.pod)
		}
	}
}

// reviewStart takes a pod that changed off the lists that it must not be on any more. before are its memberships until now.
func reviewStart(p *pod, before []membership, gone bool) {
	for _, was := range before {
		started := &was.sequence.outOfOrder
		if _, listed := started.pods[p]; !listed {
			continue
		}
		if m, is := p.membershipIn(was.sequence); gone || !is || !m.mayHaveStartedEarly(p) {
			delete(started.pods, p)
		}
	}
}

func (o *outOfOrder) add(p *pod) {
	if o.pods == nil {
		o.pods = map[*pod]struct{}{}
	}
	o.pods[p] = struct{}{}
}

// report describes the pods that started out of order; nil if none did.
func (o *outOfOrder) report() *report.OutOfOrder {
	if len(o.pods) == 0 {
		return nil
	}
	s := o.of
	r, missing, owners, ready := &report.OutOfOrder{}, ^order.GroupSet(0), map[*workload]struct{}{}, map[*groupState]time.Time{}
	for p := range o.pods {
		name := s.nameOf(p)
		m, _ := p.membershipIn(s)
		r.Foreign = r.Foreign || !s.knowledge.settings.isOurs(p)
		missing &= m.notPassedAtBinding(p, time.Time{}, ready) // what is reported must not change as time goes on
		r.Pods = append(r.Pods, name)
		switch owner := s.knowledge.workloads.ownerOf(p).workload; {
		case owner == nil || !report.CanRestart(owner.Kind):
			r.Others = append(r.Others, name)
		default:
			owners[owner] = struct{}{}
		}
	}
	slices.Sort(r.Pods)
	slices.Sort(r.Others)
	for owner := range owners {
		r.Workloads = append(r.Workloads, owner.Key())
	}
	slices.SortFunc(r.Workloads, inventory.CompareWorkloads)
	if missing != 0 {
		r.Waited = new(s.where(missing.First()))
	}
	return r
}
