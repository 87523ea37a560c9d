package sequence

import "time"

// settle works out what the transaction changed, and publishes it. What differs from what was published is reported.
//
// Pods come last: a pod may be in several sequences, and who reads that it is released must find the nodes open to which it may
// be scheduled. Whether they are looked at in this order or that makes no difference.
func (k *knowledge) settle(tx *transaction) Changes {
	changes := Changes{Requiring: tx.requiring}
	k.settleSums(tx)
	for _, key := range tx.edited {
		changes.touch(key)
		changes.Advanced = append(changes.Advanced, key)
	}
	for _, key := range tx.strayed {
		if k.sequences[key] != nil {
			changes.touch(key)
		}
	}
	k.publishGone(tx)
	for _, d := range tx.dirtyDomains {
		if d.sequence.registered {
			k.advance(d.domain, tx, &changes)
		}
	}
	k.publishDomains(tx)
	k.settleNodes(tx)
	for _, name := range tx.namespaces {
		k.published.publishNamespace(name, k.namespaces[name])
	}
	k.publishCome(tx)
	for _, p := range tx.entered {
		k.settleEntered(&changes, p)
	}
	for _, p := range tx.dirtyPods {
		k.settlePod(&changes, p)
	}
	for _, d := range tx.dirtyDomains {
		if d.sequence.registered {
			k.settleDomain(&changes, d)
		}
	}
	if len(tx.toCheckOrder) > 0 {
		k.checkOrder(tx)
	}
	k.dropDomains(tx)
	return changes
}

// advance brings the domain up to its sums and to the time.
func (k *knowledge) advance(d *domain, tx *transaction, changes *Changes) {
	d.evaluate(k)
	completed, passed := d.Completed, d.Passed
	d.Advance(d.progressFacts(), k.now)
	if d.Passed != passed && d.sequence.mayHaveFailures() {
		for i := range (d.Passed &^ passed).All() {
			d.groupState(i)
		}
		d.sequence.reviewFailures(tx)
		d.evaluate(k) // of what passed just now nothing is expected that is gone
		d.Advance(d.progressFacts(), k.now)
	}
	if d.markCompleted(completed) {
		d.evaluate(k) // status says that groups were complete of which nothing is left
		d.Advance(d.progressFacts(), k.now)
	}
	k.alarms.Set(&d.alarm, d.NextWake(d.progressFacts(), k.now))
	changes.touch(d.sequence.Key)
	if d.Ripe != 0 {
		changes.Ripe = append(changes.Ripe, d.sequence.Key)
	}
}

// settleNodes publishes that some nodes may be open to other groups than before, and marks for re-evaluation the pods for which that
// matters.
func (k *knowledge) settleNodes(tx *transaction) {
	opened := map[membership]int{}
	for _, d := range tx.dirtyDomains {
		if !d.sequence.registered || !d.isNode() || d.before.standing == d.published.standing {
			continue
		}
		d.sequence.opens.Add(1)
		k.unplaced.markPinsTo(d, tx)
		for group := range (d.published.open() &^ d.before.open()).All() {
			opened[membership{d.sequence, group}] += k.nodes.roomOn(d.name)
		}
	}
	k.unplaced.markPinsDirty(tx)
	k.tryOn(opened, tx)
}

// dropDomains forgets the domains of nodes that are gone.
func (k *knowledge) dropDomains(tx *transaction) {
	for _, d := range tx.dirtyDomains {
		if d.isGone() {
			k.alarms.Set(&d.alarm, time.Time{})
			d.sequence.domainsMu.Lock()
			delete(d.sequence.domains, d.name)
			d.sequence.domainsMu.Unlock()
		}
	}
}

// settlePod publishes the verdict on a pod, and reports how it differs from the one that was published. To look at a pod twice
// reports nothing twice.
func (k *knowledge) settlePod(c *Changes, p *pod) {
	was := k.settings.published(p.published, p.UID)
	k.report(c, p, was, k.publish(p))
}

// settleEntered is settlePod for a new version of a pod. Who asked about the pod before the verdict was published has left a
// note, and holds it.
func (k *knowledge) settleEntered(c *Changes, p *pod) {
	was := k.settings.published(p.published, p.UID)
	is := k.publish(p)
	if k.unseen.take(p.UID) {
		was = verdict{held: true}
	}
	k.report(c, p, was, is)
}

// report reports how the verdict on a pod differs from an earlier one.
func (k *knowledge) report(c *Changes, p *pod, was, is verdict) {
	switch {
	case p.Bound(), p.Terminating:
	case is.held:
		if !was.held || was.reason != is.reason {
			c.Held = append(c.Held, p.key())
		}
		if p.Nominated && k.settings.isOurs(p) {
			c.Nominated = append(c.Nominated, p.key())
		}
	case was.held, was.opensMore(is), was.liftsMore(is):
		c.Released = append(c.Released, Release{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, SchedulerName: p.SchedulerName, CreatedAt: p.CreatedAt.Time(), Gates: is.lift,
			StillGated: len(is.lift) < len(p.Gates()), Again: !was.held,
		})
	}
}

// settleDomain reports what the sequence of a domain waits for from now on, and what the domain means to pods.
func (k *knowledge) settleDomain(c *Changes, d dirtyDomain) {
	s, before, now := d.sequence, d.before, d.published
	if s.DryRun || s.PerNode {
		return
	}
	// Who waits for a group is told when it fails, and when its pass cannot be recorded for long.
	if before.passed != now.passed || before.failed != now.failed || before.ripe != now.ripe {
		c.Advanced = append(c.Advanced, s.Key)
	}
	if before.unpublished {
		return // its pods are looked at by themselves
	}
	for i := range (before.released ^ now.released).All() {
		for p := range d.peek(i).members {
			k.settlePod(c, p)
		}
	}
}

// settleSums brings the sums of all groups up to the facts.
func (k *knowledge) settleSums(tx *transaction) {
	for _, at := range tx.counted {
		if _, isMember := at.domain.peek(at.group).members[at.pod]; !isMember {
			continue // it has left since
		}
		for i := range at.groups().All() {
			at.domain.find(i).put(at, k.workloads.contribution(at, i), tx)
		}
	}
	for _, demand := range tx.demands {
		demand.endFailures(tx)
	}
	for _, demand := range tx.demands {
		demand.settle()
	}
	tx.counted, tx.demands = nil, nil
}
