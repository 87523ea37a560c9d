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

// mayHaveStartedEarly reports whether the pod was bound without leave of its sequence, as far as the pod and the sequence themselves say:
// by our scheduler before the sequence was created, or by another scheduler at any time, because nothing holds the pods of its template. A
// pod of another scheduler that was created later and had its gate lifted was released.
func (k *knowledge) mayHaveStartedEarly(p *pod, m membership) bool {
	s := m.sequence
	created := s.object.CreationTimestamp.Time
	bound := p.BoundAt.Time()
	return p.Bound() && !p.Terminating && !p.Succeeded && !p.Failed && !p.Mirror &&
		s.groups[m.group].Awaited != 0 && s.canCheckOrder() &&
		(!bound.After(created) || !k.settings.isOurs(p) && !(p.GateLifted && p.CreatedAt.Time().After(created))) && !bound.Before(created.Add(-oneInstallation))
}

// wasPassedAt reports whether a group was passed and has been since, or whether it has been ready since then. Times are whole seconds, so a
// wait is over at the earliest when it has passed since the second in which the group became ready. A time after now, if that is not zero,
// counts as now. Objects do not count, because nothing says how they were before the sequence.
func (d *domain) wasPassedAt(i int, at, now time.Time, pods map[*groupState]time.Time) bool {
	if !d.isNode() && d.Passed.Has(i) && !d.PassedAt(i).Truncate(time.Second).After(at) {
		return true
	}
	if !d.isReadyButForObjects(i) {
		return false
	}
	state := d.peek(i)
	if _, known := pods[state]; !known {
		pods[state] = d.podsReadySince(i)
	}
	ready := latest(pods[state], d.conditionsSince(i))
	if !now.IsZero() && ready.After(now) {
		ready = now
	}
	return ready.IsZero() || !ready.Truncate(time.Second).Add(d.sequence.groups[i].Wait).After(at)
}

// isReadyButForObjects reports whether the group is satisfied, whatever its objects are.
func (d *domain) isReadyButForObjects(i int) bool {
	if len(d.sequence.groups[i].objects) == 0 {
		return d.looksSatisfied(i)
	}
	facts := d.facts(i)
	facts.Objects = nil
	return facts.IsSatisfied(facts.Need())
}

// beginOrderChecks begins to check the order of the members of a sequence that the engine sees for the first time. For other sequences it
// takes the names from status, or keeps those that the sequence had before it was edited. The pods are those that were or are members.
func (k *knowledge) beginOrderChecks(s, old *sequence, pods map[*pod]struct{}, tx *transaction) {
	s.outOfOrder.from = k.now.Truncate(time.Second) // as the API gives times of binding
	switch {
	case old != nil && old.UID == s.UID:
		s.outOfOrder.checks, s.outOfOrder.from = old.outOfOrder.checks && s.canCheckOrder(), old.outOfOrder.from
		for p := range old.outOfOrder.pods {
			if m, is := p.membershipIn(s); is && k.mayHaveStartedEarly(p, m) {
				s.outOfOrder.add(p)
			}
		}
	case s.object.Status.ObservedGeneration < 1:
		s.outOfOrder.checks = s.canCheckOrder()
		for p := range pods {
			k.queueOrderCheck(p, s, tx)
		}
	case s.object.Status.StartedOutOfOrder != nil:
		names, written := s.object.Status.StartedOutOfOrder.Pods, order.WrittenAt(s.object)
		for p := range pods {
			isNamesake := !written.IsZero() && p.BoundAt.Time().After(written)
			if m, is := p.membershipIn(s); is && k.mayHaveStartedEarly(p, m) && slices.Contains(names, s.nameOf(p)) && !isNamesake {
				s.outOfOrder.add(p)
			}
		}
	}
}

// queueOrderChecks adds a pod to those whose order its sequences check. The pod has just been seen to be bound.
func (k *knowledge) queueOrderChecks(p *pod, tx *transaction) {
	for _, m := range p.memberships() {
		o := &m.sequence.outOfOrder
		if o.checks || (!k.settings.isOurs(p) && !o.from.IsZero() && !p.BoundAt.Time().Before(o.from)) {
			k.queueOrderCheck(p, m.sequence, tx)
		}
	}
}

// queueOrderCheck adds the pod, if it may have started early, to those that are checked when the transaction is settled.
func (k *knowledge) queueOrderCheck(p *pod, s *sequence, tx *transaction) {
	if m, is := p.membershipIn(s); is && k.mayHaveStartedEarly(p, m) {
		tx.toCheckOrder = append(tx.toCheckOrder, podInSequence{p, s})
	}
}

// checkOrder finds out which pods of a transaction started out of order.
func (k *knowledge) checkOrder(tx *transaction) {
	ready := map[*groupState]time.Time{}
	for _, judged := range tx.toCheckOrder {
		if m, is := judged.membershipIn(judged.in); is && judged.in.registered && m.notPassedAtBinding(judged.pod, k.now, ready) != 0 {
			judged.in.outOfOrder.add(judged.pod)
		}
	}
}

// reviewStart takes a pod that changed off the lists that it must not be on any more. before are its memberships until now.
func (k *knowledge) reviewStart(p *pod, before []membership, gone bool) {
	for _, was := range before {
		started := &was.sequence.outOfOrder
		if _, listed := started.pods[p]; !listed {
			continue
		}
		if m, is := p.membershipIn(was.sequence); gone || !is || !k.mayHaveStartedEarly(p, m) {
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

// reportOutOfOrder describes the pods that started out of order; nil if none did.
func (k *knowledge) reportOutOfOrder(s *sequence) *report.OutOfOrder {
	if len(s.outOfOrder.pods) == 0 {
		return nil
	}
	r, missing, owners, ready := &report.OutOfOrder{}, ^order.GroupSet(0), map[*workload]struct{}{}, map[*groupState]time.Time{}
	for p := range s.outOfOrder.pods {
		name := s.nameOf(p)
		m, _ := p.membershipIn(s)
		r.Foreign = r.Foreign || !k.settings.isOurs(p)
		missing &= m.notPassedAtBinding(p, time.Time{}, ready) // what is reported must not change as time goes on
		r.Pods = append(r.Pods, name)
		switch owner := k.workloads.ownerOf(p).workload; {
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
