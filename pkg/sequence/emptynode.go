package sequence

import (
	"slices"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/placement"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// Most nodes have nothing of most sequences: no member is bound there, and no DaemonSet is due. How far a sequence of scope Node
// is on such an empty node follows from the node's labels alone, so nothing is kept for it. A domain is made when something comes
// to the node, and dropped when it is as if nothing had ever been there.
//
// An eager sequence has a domain for every node, because its empty nodes differ in more: a time-out after which it goes on, or a
// wait of a group that needs no pods, counts from when the node and the sequence were there together, and a suspension keeps
// what it found where groups are not for every node.

// onEmptyNode is how far the sequence is on a node where nothing of it is; the node may be nil.
func (s *sequence) onEmptyNode(n *node) placement.Standing {
	if n == nil {
		return placement.Standing{}
	}
	return placement.OnEmptyNode(s.Sequence, n.Object.Labels, s.refused(), s.releasedAtFirst())
}

// stateOn says what a node is to pods of the group.
func (s *sequence) stateOn(name string, group int) placement.State {
	if d := s.domains[name]; d != nil {
		return d.standing().State(group)
	}
	return s.onEmptyNode(s.knowledge.nodes.byName[name]).State(group)
}

// currentOn returns the groups that are under way on a node.
func (s *sequence) currentOn(n *node) spec.GroupSet {
	if d := s.domains[n.Name]; d != nil {
		return d.Current()
	}
	passed, reached := s.ReachedOn(n.Object.Labels)
	return reached &^ passed
}

// describeOn says what a node waits for.
func (s *sequence) describeOn(decision *report.Decision, n *node, now time.Time) {
	decision.NodeNotReady = !n.NotReady.IsZero()
	decision.NodeTrouble = report.NodeTrouble(&n.Node)
	if d := s.domains[n.Name]; d != nil {
		d.describe(decision, now)
		return
	}
	d := domain{sequence: s, name: n.Name, node: n, evaluated: true}
	at := s.onEmptyNode(n)
	d.Passed, d.Released = at.Passed, at.Released
	_, d.Reached = s.ReachedOn(n.Object.Labels)
	d.describe(decision, now)
}

// emptyNodeChange is a node on which nothing of a sequence is, and how far it was there before this transaction.
type emptyNodeChange struct {
	sequence *sequence
	node     string
	before   placement.Standing
}

// markEmptyNodeDirty notes that a node has changed on which nothing of the sequence is, so that the transaction finds out what that
// means. before may be nil.
func (tx *transaction) markEmptyNodeDirty(s *sequence, name string, before *node) {
	tx.emptyNodes = append(tx.emptyNodes, emptyNodeChange{s, name, s.onEmptyNode(before)})
}

// releasedAtFirst returns the groups that had been released as soon as there was the sequence, so that a suspension does not hold them.
func (s *sequence) releasedAtFirst() spec.GroupSet {
	if s.firstReleased.Load() {
		return spec.Before(1)
	}
	return 0
}

// noteFirstReleased notes that the first group has been released.
func (s *sequence) noteFirstReleased(tx *transaction) {
	if !s.firstReleased.Load() && s.Suspended {
		for _, d := range s.domains {
			tx.markDirty(d)
		}
		if s.PerNode {
			for name, n := range s.knowledge.nodes.byName {
				if s.domains[name] == nil {
					tx.markEmptyNodeDirty(s, name, n)
				}
			}
		}
	}
	s.firstReleased.Store(true)
}

// domainAt is the domain of a node, or of what is not bound or of scope Cluster. It is made if there is none yet.
func (s *sequence) domainAt(name string) *domain {
	if d := s.domains[name]; d != nil {
		return d
	}
	return s.newDomain(name, s.knowledge.nodes.byName[name])
}

// newDomain makes a domain where none is. before is its node as it was before this transaction; nil if there was none.
func (s *sequence) newDomain(name string, before *node) *domain {
	d := &domain{sequence: s, name: name, node: s.knowledge.nodes.byName[name]}
	d.alarm.Owner = d
	d.startFromEmptyNode(before)
	s.domainsMu.Lock()
	defer s.domainsMu.Unlock()
	if s.domains[name] = d; !d.isNode() {
		s.nodeless = d
	}
	return d
}

// startFromEmptyNode starts a new domain from the state of the empty node. before is that node, nil if there was none.
func (d *domain) startFromEmptyNode(before *node) {
	s := d.sequence
	if !s.PerNode {
		for i := range s.groups {
			d.groupState(i)
		}
		return
	}
	moment := s.knowledge.questions.moment.Load()
	if before == nil || before.seenMoment == moment || s.registeredAt == moment {
		return
	}
	d.published = publishedDomain{Standing: s.onEmptyNode(before)}
	if d.node.seenMoment < moment { // it is not another node of that name: something comes to an empty node
		d.Passed, d.Released, d.ReleasedBefore, d.evaluated = d.published.Passed, d.published.Released, d.published.Released, true
		_, d.Reached = s.ReachedOn(before.Object.Labels)
		d.onTheWay, d.published.unmatched = d.published.OnTheWay, d.unmatchedGroups()
	}
}

// restoreFromRecord creates the state of the current group if it needs no pods, so that it takes from the record since when the group is
// satisfied. It does so only before the domain is first evaluated.
func (d *domain) restoreFromRecord(record *v1alpha1.NodeStatus) {
	for i, g := range d.sequence.groups {
		if g.NeedsNoPods && !d.evaluated && d.sequence.recordIndex(i) == int(record.CurrentIndex) {
			d.groupState(i)
		}
	}
}

// hasHistory reports whether something was there of which the future depends.
func (d *domain) hasHistory() bool { return d.Once != 0 || d.sequence.Suspended }

// isRedundant reports whether the domain says no more than none would.
func (d *domain) isRedundant() bool {
	if d.node == nil {
		return d.empty()
	}
	s := d.sequence
	d.groupStates = slices.DeleteFunc(d.groupStates, func(state *groupState) bool { return d.isEmptyGroup(state) })
	return len(d.groupStates) == 0 && !s.Eager && !d.hasHistory() && s.nodeRecords[d.name] == nil && d.published.Standing == s.onEmptyNode(d.node)
}

// isEmptyGroup reports whether nothing is in the group, and nothing is due.
func (d *domain) isEmptyGroup(state *groupState) bool {
	g := d.sequence.groups[state.group]
	if len(state.members) > 0 || (state.satisfied && !(g.NeedsNoPods && (g.Wait == 0 || state.since.Equal(d.watchedSince(state.group))))) {
		return false
	}
	for demand := range g.demands {
		if _, due := demand.workload.due[d.name]; due {
			return false
		}
	}
	return true
}

// empty reports whether nothing counts in the domain.
func (d *domain) empty() bool {
	return !slices.ContainsFunc(d.groupStates, func(state *groupState) bool { return len(state.members) > 0 })
}
