package sequence

import "time"

// settle works out what the transaction changed, and publishes it. What differs from what was published is reported.
//
// Pods come last: a pod may be in several sequences, and who reads that it is released must find the nodes open to which it may
// be scheduled. Whether they are looked at in this order or that makes no difference.
func (k *knowledge) settle(tx *transaction) Changes {
	changes := Changes{WentBack: tx.wentBack}
	k.settled++
	tx.number = k.settled
	k.settleSums(tx)
	if len(tx.failed) > 0 {
		k.workloads.notePeers(tx.failed)
	}
	for _, key := range tx.edited {
		changes.touch(key)
		changes.Advanced = append(changes.Advanced, key)
	}
	k.publishGone(tx)
	for _, d := range tx.dirtyDomains {
		if d.sequence.registered {
			k.advance(d.domain, tx, &changes)
		}
	}
	k.nodes.refreshClasses(tx)
	k.published.publishNodes(tx.nodes, &k.nodes)
	k.publishDomains(tx)
	k.nodes.markPinsDirty(tx)
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
	for _, c := range tx.dirtyClasses {
		k.settleClass(&changes, c)
	}
	for _, p := range tx.newlySeen {
		k.noteNewlySeen(p)
	}
	if len(tx.toCheckOrder) > 0 {
		k.checkOrder(tx)
	}
	k.dropRedundantDomains(tx)
	k.publishNoQuestions(tx)
	return changes
}

// advance brings the domain up to its sums and to the time.
func (k *knowledge) advance(d *domain, tx *transaction, changes *Changes) {
	d.evaluate(k, tx)
	d.advance(k.now)
	if len(d.sequence.failures.byUID) > 0 && k.reviewFailures(d.sequence, tx) {
		d.evaluate(k, tx) // of what passed just now nothing is expected that is gone
		d.advance(k.now)
	}
	k.alarms.Set(&d.alarm, d.wake)
	k.questions.askForDomain(d, changes)
	changes.touch(d.sequence.Key)
}

// publishDomains publishes how far the domains are.
func (k *knowledge) publishDomains(tx *transaction) {
	for i := range tx.dirtyDomains {
		d := &tx.dirtyDomains[i]
		if d.dirty = false; d.sequence.registered {
			d.before = d.publish()
			k.noteReleases(d.domain, d.before)
		}
	}
}

// dropRedundantDomains forgets the domains of nodes that say no more than none would.
func (k *knowledge) dropRedundantDomains(tx *transaction) {
	for _, d := range tx.dirtyDomains {
		if d.isNode() && d.isRedundant() {
			k.alarms.Set(&d.alarm, time.Time{})
			d.sequence.domainsMu.Lock()
			delete(d.sequence.domains, d.name)
			d.sequence.domainsMu.Unlock()
		}
	}
}

// publishNoQuestions publishes of which namespaces nobody need know more. It comes last: who reads it has read everything else.
func (k *knowledge) publishNoQuestions(tx *transaction) {
	for _, name := range tx.namespaces {
		if k.consents.refused[name] == 0 {
			k.published.refusing.Delete(name)
		}
	}
	if len(k.selectors) == 0 {
		k.published.selectors.Store(false)
	}
}
