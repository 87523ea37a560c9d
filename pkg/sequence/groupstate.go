package sequence

import (
	"slices"
	"time"

	"example.com/podsequence/pkg/sequence/confirmation"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/readiness"
)

// groupState counts one group in one domain.
type groupState struct {
	group   int
	members map[*pod]contribution            // its members, with what each adds to the sums
	named   map[*pod]contribution            // the same of pods that it names and that belong to an earlier group
	trials  map[*pod]*progress.Alarm[member] // of pods that are Ready and do not count as ready yet
	timed   int                              // pods that count as ready, or will, only because they stayed Ready for a while

	// sums, demands and podGroups are what the rules of readiness look at.
	sums      readiness.Members
	demands   readiness.Demands
	podGroups readiness.PodGroups // nil if no member belongs to one

	// readyAt is when the pods of sums turned ready, and demandsReadyAt, for each workload of demands that needs pods, when the last of
	// these did: see readySince.
	readyAt, demandsReadyAt readiness.Times

	// changed is about everything until the newest event that changed these sums, and question what it was when they last turned enough, or
	// changed what is enough: see unconfirmed.
	changed, question Question
	asOf              string         // the newest version of the events that changed these sums
	reachedAsOf       Question       // about everything until the groups were passed that it waits for, if it was reached since
	lastNeed          readiness.Need // what was needed when it was last evaluated; ready is not looked at

	satisfied         bool
	unsatisfiedBefore bool      // it was not satisfied under the spec before, and has not been looked at since
	confirmed         bool      // it is satisfied, and no event is missing that says otherwise
	waitConfirmed     bool      // its wait was over when that was last looked at, so what was asked since is about all of it
	since             time.Time // when it became satisfied; zero while it is not
	dirty             bool      // its sums changed in this transaction
	turned            time.Time // the latest ready time of pods that turned ready in this transaction

	witness confirmation.Witness
}

// facts are what the rules of readiness look at.
func (d *domain) facts(i int) readiness.Group {
	g, state := d.sequence.groups[i], d.peek(i)
	facts := readiness.Group{Group: g.Group, Members: &state.sums, Demands: &state.demands, OnNode: d.isNode()}
	if facts.OnNode {
		facts.MissingOnNode, facts.GoingOnNode = d.missing(g)
	} else if len(d.sequence.failures.byUID) > 0 {
		facts.Lost = d.sequence.lost(i)
	}
	if len(state.podGroups) > 0 && g.MinAvailable == nil {
		facts.PodGroupMinimum, facts.PodGroupShort = state.podGroups.Need(d.sequence.minimum, g.completedPodGroup)
	}
	return facts
}

// need works out what the group waits for in this domain.
func (d *domain) need(i int) readiness.Need {
	facts := d.facts(i)
	need := facts.Need()
	need.Trials = d.trialsOf(i)
	return need
}

// expects reports whether the group has a pod in this domain, or should have one, as of when it was last evaluated.
func (d *domain) expects(group int) bool {
	state := d.find(group)
	return state != nil && state.lastNeed.Expected > 0
}

// missing counts the DaemonSets that should have a pod on the domain's node and have not, and going those that should have one there
// and are being deleted.
func (d *domain) missing(g *group) (missing, going int) {
	for demand := range g.demands {
		w := demand.workload
		_, due := w.due[d.name]
		if readiness.IsMissing(due, w.onNode[d.name]) {
			missing++
		}
		if due && w.IsGoing(d.sequence.Cluster) {
			going++
		}
	}
	return missing, going
}

// find returns the sums of a group; nil if nothing of it is or was here.
func (d *domain) find(group int) *groupState {
	i, found := d.search(group)
	if !found {
		return nil
	}
	return d.groupStates[i]
}

func (d *domain) search(group int) (int, bool) {
	if group < len(d.groupStates) && d.groupStates[group].group == group {
		return group, true // as everywhere in the cluster
	}
	return slices.BinarySearchFunc(d.groupStates, group, func(state *groupState, group int) int { return state.group - group })
}

// emptyGroupState is what peek returns for a group without state. It is never written to.
var emptyGroupState = &groupState{}

// peek returns the sums of a group, only for reading.
func (d *domain) peek(group int) *groupState {
	if state := d.find(group); state != nil {
		return state
	}
	return emptyGroupState
}

// groupState returns the sums of a group, for changing them.
func (d *domain) groupState(group int) *groupState {
	i, found := d.search(group)
	if !found {
		state := &groupState{group: group}
		if d.evaluated && d.needsNothing(group) {
			state.satisfied, state.confirmed, state.since = true, true, d.since(group)
			state.waitConfirmed = !d.sequence.knowledge.now.Before(d.waitOver(group))
		}
		d.groupStates = slices.Insert(d.groupStates, i, state)
	}
	state := d.groupStates[i]
	state.dirty = true
	return state
}

// needsNothing reports whether the group is satisfied here whatever there is of it.
func (d *domain) needsNothing(group int) bool {
	return d.node != nil && d.sequence.groups[group].NeedsNoPods
}

// looksSatisfied reports whether the group is satisfied as far as is known, isConfirmed whether that is confirmed, and since is since when
// it is.
func (d *domain) looksSatisfied(group int) bool {
	if state := d.find(group); state != nil {
		return state.satisfied
	}
	return d.needsNothing(group)
}

func (d *domain) isConfirmed(group int) bool {
	if state := d.find(group); state != nil {
		return state.confirmed
	}
	return d.needsNothing(group)
}

func (d *domain) since(group int) time.Time {
	switch state := d.find(group); {
	case state != nil:
		return state.since
	case d.needsNothing(group):
		return d.watchedSince(group)
	}
	return time.Time{}
}

// watchedSince is since when the engine watches the group here, defined as it is.
func (d *domain) watchedSince(group int) time.Time {
	since := d.sequence.groups[group].watchedSince
	if d.node != nil {
		since = latest(since, d.node.seenAt)
	}
	return since
}
