package sequence

import (
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
)

// domain is where the groups of a sequence are passed in order: the whole cluster, or one node.
type domain struct {
	sequence *sequence
	name     string // of the node; empty for the cluster, and for what is not bound yet
	node     *node  // nil for the cluster, and while the node is not known

	// groupStates are those of the groups that have or had something here, in order; of scope Cluster all. See find and peek.
	groupStates []*groupState
	// progress is how far the sequence is here.
	progress.State
	// alarm is set to when time alone will change something.
	alarm progress.Alarm[*domain]

	evaluated bool            // it has been settled at least once
	dirty     bool            // it will be settled at the end of this transaction
	published publishedDomain // when it was last settled; guarded by the sequence's domainsMu
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

// isGone reports whether the domain is of a node that is not known, and has nothing of the sequence.
func (d *domain) isGone() bool {
	return d.isNode() && d.node == nil && !slices.ContainsFunc(d.groupStates, func(state *groupState) bool { return len(state.members) > 0 })
}

// isNode reports whether the domain is that of a node.
func (d *domain) isNode() bool { return d.name != "" }

// applies reports whether the group is for this domain.
func (d *domain) applies(g *group) bool { return d.node == nil || g.AppliesTo(d.node.Object.Labels) }

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

// peek returns the sums of a group, only for reading.
func (d *domain) peek(group int) *groupState {
	if state := d.find(group); state != nil {
		return state
	}
	return emptyGroupState
}

// nodeCreatedAt is when the domain's node was created; zero in the cluster, and while the node is not known.
func (d *domain) nodeCreatedAt() time.Time {
	if d.node == nil {
		return time.Time{}
	}
	return d.node.Object.CreationTimestamp.Time
}

// needsNothing reports whether the group is satisfied here whatever there is of it.
func (d *domain) needsNothing(group int) bool {
	return d.node != nil && d.sequence.groups[group].NeedsNoPods
}

// looksSatisfied reports whether the group is satisfied as far as is known, and since is since when it is.
func (d *domain) looksSatisfied(group int) bool {
	if state := d.find(group); state != nil {
		return state.satisfied
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

// standing is how far the domain is now.
func (d *domain) standing() standing {
	return standing{passed: d.Passed, released: d.Released, known: d.node != nil}
}

// current is the first group that is waited for and not passed; len(groups) when none is.
func (d *domain) current() int {
	return min((d.Passed | d.sequence.Skipped).FirstMissing(), len(d.sequence.groups))
}

// waitOver is when the wait of a satisfied group is over.
func (d *domain) waitOver(i int) time.Time {
	return progress.WaitOver(d.sequence.Groups[i], d.since(i))
}

// where names a group of the domain in messages.
func (d *domain) where(i int) report.Where {
	return report.Where{Index: i, Groups: len(d.sequence.groups), Title: d.sequence.groups[i].Title, Node: d.name}
}

// isDone reports whether a member has reached what its group requires.
func (d *domain) isDone(p *pod, group int) bool {
	return readiness.IsDone(p.Pod, d.sequence.groups[group].requirement(), d.nodeCreatedAt()) && !d.peek(group).onTrial(p)
}

// groupState returns the sums of a group, for changing them.
func (d *domain) groupState(group int) *groupState {
	i, found := d.search(group)
	if !found {
		state := &groupState{group: group}
		if d.evaluated && d.needsNothing(group) {
			state.satisfied, state.since = true, d.since(group)
		}
		d.groupStates = slices.Insert(d.groupStates, i, state)
	}
	state := d.groupStates[i]
	state.dirty = true
	return state
}

// markCompleted marks for re-evaluation the groups that are complete now and were not before, as far as they are not satisfied. It reports
// whether there are any.
func (d *domain) markCompleted(before order.GroupSet) (any bool) {
	for i := range (d.Completed &^ before).All() {
		if !d.looksSatisfied(i) {
			d.groupState(i)
			any = true
		}
	}
	return any
}

// reset forgets what the domain came to before its node was known: it was another node, or the order of events.
func (d *domain) reset() {
	d.State, d.evaluated = progress.State{Reached: d.Reached, Released: d.Released}, false
	for _, state := range d.groupStates {
		state.satisfied, state.unsatisfiedBefore = false, false
		state.since, state.turned = time.Time{}, time.Time{}
	}
}

// inheritProgress takes over what the domain of an earlier spec of the same object came to, as far as groups are defined the same.
func (d *domain) inheritProgress(old *domain, same order.Same) {
	s := d.sequence
	remembers := s.PerNode || s.DryRunRequested && old.sequence.DryRunRequested // elsewhere status does
	if !s.Continuous && !old.sequence.Continuous && remembers {
		for i := range (same.Set(old.Passed) &^ d.Passed).All() {
			d.Pass(i, old.PassedAt(same[i]))
		}
	}
	for i, earlier := range same {
		if earlier < 0 {
			continue
		}
		if before := old.find(earlier); before != nil && before.satisfied {
			state := d.groupState(i)
			state.satisfied, state.since = true, before.since
		} else if state := d.find(i); state != nil && old.evaluated {
			state.unsatisfiedBefore = !old.looksSatisfied(earlier)
		}
	}
	d.Once |= same.Set(old.Once)
	for i, earlier := range same {
		switch {
		case earlier < 0 || old.LostAt(earlier).IsZero():
		case s.Continuous:
			d.Lose(i, old.LostAt(earlier))
		default:
			d.Once.Add(i) // it was satisfied since it was released, which counts from now on
		}
	}
	d.Completed |= same.Set(old.Completed)
	d.Reopened |= same.Set(old.Reopened)
	d.ReleasedBefore |= same.Set(old.ReleasedBefore) // for a suspension, by this edit or by the next one in the same step
}

// setNode makes the node that of the domain, or none. Which members count as done may depend on when it was created.
func (d *domain) setNode(n *node, tx *transaction) {
	before := d.node
	d.node = n
	d.noteConditions(before)
	for _, state := range d.groupStates {
		state.dirty = true
		for p := range state.members {
			tx.mark(member{p, d, state.group})
		}
	}
}

// countsIn returns what of its contribution says whether, and since when, a version of a member counts as ready in a group.
func (d *domain) countsIn(p *pod, group int) (c contribution) {
	k, g := d.sequence.knowledge, d.sequence.groups[group]
	reached := p.Reached(g.requirement())
	if !reached.Done {
		return c
	}
	minReady := readiness.MinReady(p.Pod, g.Group, k.settings.UnprobedReady)
	if minReady == 0 {
		c.since, c.ready = reached.Since, true
		return c
	}
	// A time of the API, cut to whole seconds, and so is the sum. Count from the next full second, once.
	c.since, c.timed = inventory.TimestampOf(p.SteadySince().Time().Add(minReady)), true
	c.ready = !k.now.Before(c.trialEnds())
	return c
}

// trialsOf sums up who is on trial in a group.
func (d *domain) trialsOf(group int) readiness.Trials {
	sum := readiness.Trials{Pods: len(d.peek(group).trials)}
	for p := range d.peek(group).trials {
		g := d.sequence.groups[group].Group
		sum.For, sum.Unprobed = readiness.MinReady(p.Pod, g, d.sequence.knowledge.settings.UnprobedReady), g.MinReady == nil
		break // it is the same for all of them, and there may be many
	}
	return sum
}

// describe says what the domain waits for.
func (d *domain) describe(decision *report.Decision, now time.Time) {
	waitsFor := d.waitsFor(decision.Group)
	if waitsFor == 0 {
		decision.Reason = report.HeldBySuspension
		return
	}
	current := waitsFor.First()
	decision.Group, decision.Title = current, d.sequence.groups[current].Title
	for i := range (waitsFor &^ (1 << current)).All() {
		decision.Others = append(decision.Others, d.sequence.groups[i].Title)
	}
	decision.Need = d.need(current)
	if d.published.failed.Has(current) {
		if failure := d.failureOfMembers(current); failure != nil {
			decision.Failure = strings.TrimPrefix(failure.Message, d.where(current).String()+": ")
		}
	}
	switch {
	case d.Ripe.Has(current):
		decision.Reason = report.HeldUnrecorded
	case d.looksSatisfied(current):
		decision.Reason, decision.Until = report.HeldByWait, d.waitOver(current)
	case d.timedOut(current, now):
		decision.Reason = report.HeldByTimeout
	}
}

// waitsFor returns the groups that members of a group wait for, as far as they are under way: not those that wait themselves.
func (d *domain) waitsFor(group int) order.GroupSet {
	return d.sequence.groups[group].Awaited & d.Current()
}

// lastLost is when a group of the domain was last lost that was satisfied before; zero if all are satisfied again.
func (d *domain) lastLost() (at time.Time) {
	for i := range d.sequence.groups {
		at = latest(at, d.LostAt(i))
	}
	return at
}

// facts are what the rules of readiness look at.
func (d *domain) facts(i int) readiness.Group {
	g, state := d.sequence.groups[i], d.peek(i)
	facts := readiness.Group{Group: g.Group, Members: &state.sums, Demands: &state.demands, Objects: g.objects, OnNode: d.isNode()}
	if facts.OnNode {
		facts.MissingOnNode, facts.GoingOnNode = d.missing(g)
		facts.Unmet = d.node.unmet(g)
	} else if d.sequence.failures.mayCount() {
		for _, failure := range d.sequence.failures.in(i) {
			facts.Lost.Add(int(failure.Pods))
		}
	}
	facts.OthersSatisfied = state.othersSatisfied
	facts.Finished = d.Completed.Has(i) && !d.isUnfinished(i)
	return facts
}

// failedGroups returns the groups under way that will not be satisfied without intervention, because members failed, or that are too late.
func (d *domain) failedGroups() order.GroupSet {
	failed := order.GroupSet(0)
	for i := range d.Current().All() {
		state, tooLate := d.peek(i), !d.sequence.groups[i].ContinueOnTimeout && d.timedOut(i, d.sequence.knowledge.now)
		if !state.satisfied && (tooLate || state.sums.Failed > 0 || len(d.failedJobs(i)) > 0) {
			failed.Add(i)
		}
	}
	return failed
}

// failureOfMembers says which members of a group failed, and how to replace them; nil if none did.
func (d *domain) failureOfMembers(i int) *order.Problem {
	if d.peek(i).sums.Failed > 0 {
		return ptr.To(report.PodFailed(d.where(i), d.failedPods(i)))
	}
	if jobs := d.failedJobs(i); len(jobs) > 0 {
		return ptr.To(report.JobFailed(d.where(i), jobs, d.sequence.Cluster))
	}
	return nil
}

func (d *domain) failedPods(i int) []string {
	var names []string
	collect := func(p *pod) {
		if p.IsLost() {
			names = append(names, "pod "+d.sequence.nameOf(p))
		}
	}
	for p := range d.peek(i).members {
		collect(p)
	}
	if len(names) == 0 { // a pod that this group names starts with an earlier one
		for j := range i {
			for p := range d.peek(j).members {
				if d.sequence.groups[i].NamesPod(p.Namespace, p.Name) {
					collect(p)
				}
			}
		}
	}
	return names
}

// failedJobs are the Jobs of a group that failed, and after which nobody created another one. Such a Job is over when the other completes.
func (d *domain) failedJobs(i int) []*inventory.Workload {
	if d.peek(i).demands.Failed == 0 {
		return nil
	}
	var jobs []*inventory.Workload
	newest := d.sequence.groups[i].newestJob()
	for demand := range d.sequence.groups[i].demands {
		if demand.entered.Failed > 0 && !newest.CreatedAt.After(demand.workload.FailedAt) {
			jobs = append(jobs, &demand.workload.Workload)
		}
	}
	return jobs
}

// need works out what the group waits for in this domain.
func (d *domain) need(i int) readiness.Need {
	facts := d.facts(i)
	need := facts.Need()
	if need.Lost > 0 {
		need.Lost = len(d.sequence.failures.unreplaced(i)) // of the others it is said what makes up for them
	}
	need.Trials = d.trialsOf(i)
	if need.Unmet != 0 && d.node != nil {
		need.Lacks = readiness.UnmetText(d.sequence.groups[i].NodeConditions, &d.node.Node)
	}
	return need
}

// evaluate works out anew the groups that the transaction may have changed. It must come before advance.
func (d *domain) evaluate(k *knowledge) {
	othersSatisfied := true
	for _, state := range d.groupStates {
		g := d.sequence.groups[state.group]
		if g.IsRest && state.othersSatisfied != othersSatisfied {
			state.othersSatisfied, state.dirty = othersSatisfied, true
		}
		if !d.evaluated || state.dirty {
			d.evaluateGroup(state, k.now)
		}
		othersSatisfied = othersSatisfied && (state.satisfied || g.Skip)
	}
	d.evaluated = true
}

// evaluateGroup works out, from facts alone, what the group needs, whether it has that, and since when.
func (d *domain) evaluateGroup(state *groupState, now time.Time) {
	g, facts := d.sequence.groups[state.group], d.facts(state.group)
	if g.watchedSince.IsZero() {
		g.watchedSince = now.Truncate(time.Second)
	}
	need := facts.Need()
	since := readiness.SinceFacts{
		Satisfied: !d.sequence.refused() && facts.IsSatisfied(need), Waits: g.Wait > 0,
		FirstLook: !d.evaluated && state.since.IsZero() && !state.unsatisfiedBefore,
		Before:    state.satisfied, SinceBefore: state.since, Turned: state.turned, Now: now,
	}
	if since.FirstLook {
		since.Recorded, since.IsRecorded = d.recordedSince(state.group)
		since.RecordedAt = order.WrittenAt(d.sequence.object)
	}
	state.enough = state.enough && since.Before && since.Satisfied && need.Required == state.required
	pods := time.Time{}
	state.since = since.Since(func() time.Time {
		if !state.enough {
			pods = d.podsReadySince(state.group)
		}
		return latest(pods, latest(g.objects.Since(), d.node.conditionsSince(g)))
	})
	state.enough = state.enough || (!pods.IsZero() && !pods.After(state.since))
	state.satisfied, state.required = since.Satisfied, need.Required
	state.unsatisfiedBefore, state.dirty, state.turned = false, false, time.Time{}
}

// recordedSince is since when the group is satisfied as status says; zero if it says that the group is not. It is not known if
// status does not speak of the group as it is defined now. Of a node it speaks of one group.
func (d *domain) recordedSince(i int) (since time.Time, known bool) {
	since, known = d.recordedSatisfiedAt(i)
	if g := d.sequence.groups[i]; since.IsZero() && g.WithoutMembers && len(g.NodeConditions) == 0 {
		return time.Time{}, false // the same status says since when its objects are ready
	}
	return since, known
}

// recordedSatisfiedAt returns what status says of any group: recordedSince, also where the objects of the group say it themselves.
func (d *domain) recordedSatisfiedAt(i int) (since time.Time, known bool) {
	record := d.sequence.record(i)
	if !d.isNode() {
		return timeOf(record.SatisfiedAt), record.Hash != ""
	}
	node := d.sequence.nodeRecords[d.name]
	if node == nil || record.Hash == "" {
		return time.Time{}, false
	}
	switch index := d.sequence.recordIndex(i); {
	case index < int(node.CurrentIndex):
		return time.Time{}, false
	case index > int(node.CurrentIndex):
		return time.Time{}, true
	}
	if since = timeOf(node.SatisfiedAt); !since.IsZero() && since.Before(d.nodeCreatedAt()) {
		return time.Time{}, false // it speaks of another node of this name
	}
	return since, true
}

// podsReadySince is when the last of the pods that the group needs turned ready, as they themselves say; zero if it needs none. Of each
// workload only as many pods count as are needed of it. It takes a look at all members, so it is only asked where it matters.
func (d *domain) podsReadySince(i int) time.Time {
	g, state := d.sequence.groups[i], d.peek(i)
	times, surplus := make([]inventory.Timestamp, 0, len(state.members)), map[*demand][]inventory.Timestamp{}
	for _, counted := range []map[*pod]contribution{state.members, state.named} {
		for _, c := range counted {
			part := c.demand
			owned := c.ready && part != nil && part.group == i && !part.workload.Complete
			switch {
			case c.Ready, owned && part.done <= part.entered.Need:
				times = append(times, c.since)
			case owned:
				surplus[part] = append(surplus[part], c.since)
			}
		}
	}
	for part, ready := range surplus {
		times = append(times, part.needed(ready)...)
	}
	more := map[inventory.Timestamp]int{} // pods of complete Jobs, beside one of each: nobody keeps them
	for part := range g.demands {
		if at := inventory.TimestampOf(part.workload.CompletedAt); part.workload.Complete && part.entered.Need > 0 {
			times, more[at] = append(times, at), more[at]+part.entered.Need-1
		}
	}
	last, needed := inventory.Timestamp(0), math.MaxInt
	if g.MinAvailable != nil {
		needed = max(d.need(i).Required, 1)
		slices.Sort(times)
	}
	for _, at := range times {
		last = max(last, at)
		if needed -= 1 + more[at]; needed <= 0 {
			break
		}
		delete(more, at)
	}
	return last.Time()
}

// progressFacts are what the rules of progress look at.
func (d *domain) progressFacts() progress.Domain {
	s := d.sequence
	return progress.Domain{
		Sequence: s.Sequence, Facts: d, Refused: s.refused(), OnNode: d.isNode(), Known: d.node != nil, ReleasedAtFirst: s.releasedAtFirst(),
	}
}

// Readiness returns how far a group is by itself.
func (d *domain) Readiness(i int) progress.Readiness {
	return progress.Readiness{
		Elsewhere: !d.applies(d.sequence.groups[i]), NeedsNothing: d.needsNothing(i), Satisfied: d.looksSatisfied(i), Since: d.since(i),
		Unfinished: d.Completed.Has(i) && d.isUnfinished(i),
	}
}

// IsAbsent reports whether nothing of a group is on the node or due there.
func (d *domain) IsAbsent(i int) bool {
	facts := d.facts(i)
	return facts.Need().Expected == 0 && !d.sequence.groups[i].OnEveryNode
}

// isUnfinished reports whether something of a group is there that has not completed, or failed and is gone.
func (d *domain) isUnfinished(i int) bool {
	g, state := d.sequence.groups[i], d.peek(i)
	if state.demands.Short > 0 || state.demands.Unobserved > 0 || len(d.sequence.failures.in(i)) > 0 {
		return true
	}
	if g.Selector != nil && state.sums.Unseen == 0 {
		return state.sums.Ready < state.sums.Expected
	}
	for _, counted := range []map[*pod]contribution{state.members, state.named} { // few by name, and of unknown owners only for a moment
		for p, c := range counted {
			if (g.Selector == nil || c.Expected) && !p.Reached(g.requirement()).Done {
				return true
			}
		}
	}
	return false
}

// Recorded returns what status says of a group.
func (d *domain) Recorded(i int) v1alpha1.GroupStatus { return d.sequence.record(i) }

// RecordedPass returns the pass of a group that status records.
func (d *domain) RecordedPass(i int) (pass v1alpha1.GroupPass, recorded bool) {
	return d.sequence.PassIn(&d.sequence.object.Status, i)
}

// Origin returns what says since when a group can have been released.
func (d *domain) Origin(i int) progress.Origin {
	s, g := d.sequence, d.sequence.groups[i]
	return progress.Origin{Created: s.created, Edited: g.editedAt, Resumed: latest(s.resumedSeen, s.resumedAt()), Watched: d.watchedSince(i)}
}

// timedOut reports whether the time of a group is over.
func (d *domain) timedOut(i int, now time.Time) bool {
	return d.sequence.groups[i].Timeout > 0 && d.TimedOut(d.progressFacts(), i, now)
}

// publish publishes how far the domain is, and returns what was published before.
func (d *domain) publish() (before publishedDomain) {
	d.sequence.domainsMu.Lock()
	defer d.sequence.domainsMu.Unlock()
	before, d.published = d.published, d.toPublish()
	return before
}

func (d *domain) toPublish() publishedDomain {
	return publishedDomain{
		standing: d.standing(), node: d.node, ripe: d.Ripe, failed: d.failedGroups(),
		lost: inventory.TimestampOf(d.lastLost()),
	}
}

// heldFor counts the pods of a namespace that wait for a group.
func (d *domain) heldFor(group int, namespace string) (held int) {
	for j, g := range d.sequence.groups {
		if !g.Awaited.Has(group) || d.Released.Has(j) {
			continue
		}
		for p := range d.peek(j).members {
			if p.Namespace == namespace && !p.Bound() {
				held++
			}
		}
	}
	return held
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
	ready := latest(pods[state], d.node.conditionsSince(d.sequence.groups[i]))
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

// enterDue marks for re-evaluation the groups of DaemonSets that are due on the domain's node, which is new or has changed.
func (d *domain) enterDue() {
	for i, g := range d.sequence.groups {
		for demand := range g.demands {
			if d.node.isDue(demand.workload) {
				d.groupState(i)
			}
		}
	}
}

// missing counts the DaemonSets that should have a pod on the domain's node and have not, and going those that should have one there
// and are being deleted.
func (d *domain) missing(g *group) (missing, going int) {
	for demand := range g.demands {
		w := demand.workload
		due := d.node.isDue(w)
		if readiness.IsMissing(due, w.onNode[d.name]) {
			missing++
		}
		if due && w.IsGoing(d.sequence.Cluster) {
			going++
		}
	}
	return missing, going
}

// noteConditions notes when the conditions turned that an event brought. before is the node as it was; nil if there was none.
func (d *domain) noteConditions(before *node) {
	if d.node == nil {
		return
	}
	var was *inventory.Node
	if before != nil && before.Object.UID == d.node.Object.UID {
		was = &before.Node
	}
	for i, g := range d.sequence.groups {
		if state := d.find(i); state != nil && len(g.NodeConditions) > 0 {
			state.turned = latest(state.turned, readiness.TurnedOn(g.NodeConditions, was, &d.node.Node))
		}
	}
}
