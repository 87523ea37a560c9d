package ordercheck

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// DefaultSchedulerName is the profile whose pods are governed unless others are given.
const DefaultSchedulerName = "podsequence-scheduler"

// JudgeOptions say what to judge.
type JudgeOptions struct {
	// SchedulerNames are the profiles of our schedulers: their pods are governed. Defaults to DefaultSchedulerName.
	SchedulerNames []string
	// UnprobedReady is how long pods without a readiness probe must be ready before they count, as both programs are told.
	UnprobedReady time.Duration
	// ExcusesUnseen is as of Options.
	ExcusesUnseen bool
	// Namespace limits the verdict to the pods of one namespace. Empty means all.
	Namespace string
}

// Judge replays a history and says what was bound before its turn. It is a pure function.
func Judge(history History, options JudgeOptions) Verdict {
	j := newJudge(history, options)
	first := history.sinceStart()
	var began event
	for _, e := range history.events[:first] {
		j.recall(e)
		began = event{arrived: e.arrived, earliest: e.earliest}
	}
	j.assume(began)
	for _, e := range history.events[first:] {
		j.replay(e)
	}
	for _, a := range history.audits {
		if j.concernsPodsOf(a.sequence) {
			j.verdict.include(a)
		}
	}
	j.verdict.Sequences = j.sequencesSeen.Len()
	return j.verdict
}

// judge is the state of a replay.
type judge struct {
	rules     *rules
	namespace string
	interest  interest // if it is about one namespace
	world     *world
	inForce   []*version // one a sequence, oldest first
	refused   []*refused // those that have no consent

	sequencesSeen sets.Set[string] // UIDs
	verdict       Verdict
}

func newJudge(history History, options JudgeOptions) *judge {
	schedulers := options.SchedulerNames
	if len(schedulers) == 0 {
		schedulers = []string{DefaultSchedulerName}
	}
	return &judge{
		rules: &rules{
			schedulers: sets.New(schedulers...), stops: history.stops, lags: history.lags,
			unprobedReady: options.UnprobedReady, excusesUnseen: options.ExcusesUnseen,
		},
		namespace:     options.Namespace,
		interest:      interestIn(history.events, options.Namespace),
		world:         newWorld(),
		sequencesSeen: sets.New[string](),
		verdict: Verdict{
			ResourceVersion: history.end.String(),
			Violations:      []Violation{}, // a list in JSON, even if empty
			Incomplete:      slices.Clone(history.gaps),
		},
	}
}

// concerns reports whether the verdict is about pods of the namespace. Sequences of other namespaces are followed all the
// same, since an edit can point them here.
func (j *judge) concerns(namespace string) bool {
	return j.namespace == "" || j.namespace == namespace
}

// concernsPodsOf reports whether the verdict is about pods that a sequence may hold.
func (j *judge) concernsPodsOf(f *sequenceFacts) bool {
	return j.concerns(f.target) || f.isCluster() && j.interest.sequences.Has(f.uid)
}

// leavesOut reports whether an event has nothing to do with what is judged.
func (j *judge) leavesOut(e event) bool {
	switch {
	case j.namespace == "":
		return false
	case e.pod != nil || e.workload != nil:
		return !j.interest.namespaces.Has(e.namespace())
	}
	return e.sequence != nil && e.sequence.isCluster() && !j.interest.sequences.Has(e.sequence.uid)
}

func (j *judge) count(e event) {
	switch {
	case e.node != nil || e.home != nil || e.definition != nil:
	case e.sequence != nil && j.concernsPodsOf(e.sequence), e.sequence == nil && j.concerns(e.namespace()):
		j.verdict.Events++
	}
}

// recall takes in what was there when the watch began. Nothing is worked out before all of it is in: half of it would
// show groups satisfied that were not.
func (j *judge) recall(e event) {
	if j.leavesOut(e) {
		return
	}
	j.count(e)
	e.revision = 0
	switch {
	case e.pod != nil && e.deleted:
		j.world.end(e.pod)
	case e.pod != nil:
		j.world.put(e)
	case e.workload != nil:
		j.world.putWorkload(e.workload, e.deleted)
	case e.node != nil:
		j.world.putNode(e)
	case e.home != nil:
		j.world.putNamespace(e.home, e.deleted)
		j.world.requirements.putNamespace(e)
	case e.definition != nil:
		j.world.putDefinition(e)
	default:
		j.world.putSequence(e)
		j.world.putRecords(e)
		j.end(e)
		if !e.deleted {
			j.inForce = append(j.inForce, &version{placement: placement{sequenceFacts: e.sequence}})
		}
	}
}

// assume works out how far the sequences were that are older than the watch. began is the last event of what was there.
func (j *judge) assume(began event) {
	boundBefore := sets.New[*pod]()
	j.refuseOlder()
	for i, recalled := range j.inForce {
		v := newVersion(recalled.asOf(began), j.rules, nil, j.world, began)
		v.believe(began)
		j.inForce[i] = v
		j.meet(v)
		for name := range v.placed {
			if p := j.world.get(name.Namespace, name.Name); p.podFacts.node != "" && v.governs(p) && j.concerns(p.Namespace) {
				boundBefore.Insert(p)
			}
		}
	}
	j.verdict.BoundBefore = boundBefore.Len()
}

// replay takes in a change that came while everything was watched.
func (j *judge) replay(e event) {
	if j.leavesOut(e) {
		return
	}
	j.count(e)
	j.endOverrides(e)
	switch {
	case e.pod != nil:
		j.replayPod(e)
	case e.workload != nil:
		was := j.world.in(e.workload.Namespace).workloads[e.workload.uid]
		j.world.putWorkload(e.workload, e.deleted)
		j.follow(e, func(v *version) { v.followWorkload(was, e) })
	case e.node != nil:
		was := j.world.nodes[e.node.node.Name]
		turned := j.world.putNode(e)
		j.follow(e, func(v *version) { v.followNode(was, turned, e) })
	case e.home != nil:
		j.consult(e)
	case e.definition != nil:
		j.world.putDefinition(e)
	case e.deleted:
		j.world.putSequence(e)
		j.end(e)
		j.world.putRecords(e)
	default:
		j.world.putSequence(e)
		was := j.world.putRecords(e)
		j.bringIntoForce(e)
		j.follow(e, func(v *version) { v.followObjects(was, e) })
	}
}

func (j *judge) replayPod(e event) {
	var was *podFacts
	if p := j.world.get(e.pod.Namespace, e.pod.Name); p != nil {
		was = p.podFacts
	}
	if e.deleted {
		j.world.end(e.pod)
	} else if p, bound := j.world.put(e); j.concerns(p.Namespace) {
		// Before anyone follows: a release or a binding must be justified by what was so before it.
		b := newBinding(p, e, was)
		j.noteLift(was, b)
		j.noteEarlyRelease(was, b)
		if bound {
			j.judgeBinding(b, was)
		}
	}
	j.follow(e, func(v *version) { v.followPod(was, e) })
}

// noteLift notes how a pod that nobody can hold without its gate lost that.
func (j *judge) noteLift(was *podFacts, b binding) {
	if was == nil || was.uid != b.uid || j.rules.schedulers.Has(b.schedulerName) {
		return
	}
	for _, v := range j.inForce {
		if !slices.Contains(was.gates, v.gate) || slices.Contains(b.gates, v.gate) {
			continue
		}
		l := lift{raced: b.created < v.since && !v.arrived.Before(v.rules.windowBefore(b.event.arrived))}
		if !v.perNode {
			l.inOrder, _ = v.allows(b)
		}
		b.lifted[v.uid] = l
	}
}

func (j *judge) follow(e event, take func(*version)) {
	j.eachRecentlyRefused(e, take)
	for _, v := range j.inForce {
		v.follow(e, take)
		j.own(v)
	}
}

// end takes a sequence out of force; another of the same name is another sequence.
func (j *judge) end(e event) {
	f := e.sequence
	j.inForce = slices.DeleteFunc(j.inForce, func(v *version) bool {
		if v.uid == f.uid {
			j.world.retire(v, e)
		}
		return v.uid == f.uid
	})
	j.refused = slices.DeleteFunc(j.refused, func(r *refused) bool { return r.uid == f.uid })
}

func (j *judge) bringIntoForce(e event) {
	if !j.world.consents(e.sequence) {
		j.refuse(e.sequence, e)
		return
	}
	if j.readmit(e) {
		return
	}
	for i, v := range j.inForce {
		if v.uid != e.sequence.uid {
			continue
		}
		if v.generation != e.sequence.generation || v.overrides != e.sequence.overrides {
			j.replace(i, e.sequence.asOf(e), e)
		}
		return
	}
	v := newVersion(e.sequence.asOf(e), j.rules, nil, j.world, e)
	v.since, v.arrived = e.revision, e.arrived
	j.inForce = append(j.inForce, v)
	j.meet(v)
}

// replace begins a new version of a sequence that is in force.
func (j *judge) replace(i int, f *sequenceFacts, e event) {
	j.world.retire(j.inForce[i], e)
	j.inForce[i] = j.inForce[i].succeed(f, e)
	j.meet(j.inForce[i])
}

// meet counts a sequence and says if it is beyond judging.
func (j *judge) meet(v *version) {
	if !j.concernsPodsOf(v.sequenceFacts) {
		return
	}
	j.own(v)
	j.sequencesSeen.Insert(string(v.uid))
	if v.unclear != "" {
		j.verdict.Incomplete = append(j.verdict.Incomplete, v.kind+" "+v.String()+": "+v.unclear)
	}
}

// own owns up to what a version took on trust since it was last asked.
func (j *judge) own(v *version) {
	if j.concernsPodsOf(v.sequenceFacts) {
		j.verdict.AssumedPasses += v.assumed
	}
	v.assumed = 0
}

// judgeBinding asks every sequence that holds the pod whether it may be bound. was is what the pod was before, nil if it is new.
func (j *judge) judgeBinding(b binding, was *podFacts) {
	judged, excused, early := j.judgeRequirements(b, was)
	for _, v := range j.inForce {
		group, ok := v.groupOf(b.podFacts)
		if !ok || b.terminating || v.dryRun || !v.governs(b.pod) {
			continue
		}
		judged = true
		allowed, byRace := v.allows(b)
		excused = excused || byRace
		if !allowed {
			early = true
			j.verdict.Violations = append(j.verdict.Violations, newViolation(v, group, b))
		}
	}
	if judged {
		j.verdict.Bindings++
	}
	if excused && !early {
		j.verdict.Excused++
	}
}

// refused is a sequence that the namespace to which it points does not allow. It is out of force.
type refused struct {
	*sequenceFacts
	// was is how far the sequence was when the namespace ceased to allow it; nil if it was never in force.
	was   *version
	since time.Time
	// older reports that it is older than the watch: what its status records is believed.
	older bool
}

// refuseOlder takes sequences out of force that are older than the watch, and that nobody allowed when it began.
func (j *judge) refuseOlder() {
	j.inForce = slices.DeleteFunc(j.inForce, func(v *version) bool {
		if j.world.consents(v.sequenceFacts) {
			return false
		}
		j.refused = append(j.refused, &refused{sequenceFacts: v.sequenceFacts, older: true})
		return true
	})
}

// refuse takes a sequence out of force that its target does not allow, or notes the newest spec of one that is out already.
func (j *judge) refuse(f *sequenceFacts, e event) {
	for i, r := range j.refused {
		if r.uid == f.uid {
			j.refused[i].sequenceFacts = f
			return
		}
	}
	r := &refused{sequenceFacts: f, since: e.arrived}
	if i := slices.IndexFunc(j.inForce, func(v *version) bool { return v.uid == f.uid }); i >= 0 {
		r.was = j.inForce[i]
		j.world.retire(r.was, e)
		j.inForce = slices.Delete(j.inForce, i, i+1)
	}
	j.refused = append(j.refused, r)
}

// readmit brings a sequence into force anew that was refused, and reports whether it was. What it had passed before stays
// passed.
func (j *judge) readmit(e event) bool {
	i := slices.IndexFunc(j.refused, func(r *refused) bool { return r.uid == e.sequence.uid })
	if i < 0 {
		return false
	}
	was, older := j.refused[i].was, j.refused[i].older
	j.refused = slices.Delete(j.refused, i, i+1)
	f := *e.sequence
	f.created = later(f.created, e.earliest) // time-outs count from consent
	v := newVersion(&f, j.rules, nil, j.world, e)
	v.since, v.arrived = e.revision, e.arrived
	if was != nil {
		was.remember()
		v.passedAs = was.passedAs
		if v.cluster != nil {
			v.resume()
			v.settle(v.cluster, e)
		}
	}
	if older {
		v.believe(e)
	}
	j.inForce = append(j.inForce, v)
	j.meet(v)
	return true
}

// consult takes in what a namespace allows now, which UID it has, and which labels.
func (j *judge) consult(e event) {
	j.world.putNamespace(e.home, e.deleted)
	j.world.requirements.putNamespace(e)
	j.relabel(e)
	of := func(f *sequenceFacts) event {
		e := e
		e.home, e.deleted, e.sequence = nil, false, f
		return e
	}
	concerned := func(f *sequenceFacts) bool { return f.target == e.home.name || f.Namespace == e.home.name }
	for _, v := range slices.Clone(j.inForce) {
		if concerned(v.sequenceFacts) && !j.world.consents(v.sequenceFacts) {
			j.refuse(v.sequenceFacts, e)
		}
	}
	for _, r := range slices.Clone(j.refused) {
		if concerned(r.sequenceFacts) && j.world.consents(r.sequenceFacts) {
			j.readmit(of(r.sequenceFacts))
		}
	}
}

// eachRecentlyRefused calls take with the versions whose refusal a scheduler may not have seen yet: it may still record what passes
// meanwhile.
func (j *judge) eachRecentlyRefused(e event, take func(*version)) {
	for _, r := range j.refused {
		if r.was != nil && !r.since.Before(j.rules.windowBefore(e.arrived)) {
			r.was.follow(e, take)
		}
	}
}

// endOverrides brings specs into force of which the annotations count no more. Like an edit, that may race with older pods.
func (j *judge) endOverrides(e event) {
	for i, v := range j.inForce {
		if now := v.sequenceFacts.asOf(e); now != v.sequenceFacts {
			j.replace(i, now, e)
		}
	}
}

// relabel begins a new version of each ClusterPodSequence whose groups in the namespace have changed, from what it has passed so
// far. Older pods may race with that, as with an edit.
func (j *judge) relabel(e event) {
	name := e.home.name
	for i, v := range j.inForce {
		in, known := v.reach[name]
		switch {
		case !v.isCluster() || !known:
		case e.deleted:
			delete(v.reach, name) // with all that was in it
		case !slices.Equal(in, v.sequenceFacts.groupsIn(name, e.home.labels)):
			j.replace(i, v.sequenceFacts, e)
		}
	}
}

// noteEarlyRelease notes that a pod lost the last of our gates while it lacked the sequence that its label names.
func (j *judge) noteEarlyRelease(was *podFacts, b binding) {
	ours := func(gate string) bool { return strings.HasPrefix(gate, ourGates) }
	if was == nil || was.uid != b.uid || !slices.ContainsFunc(was.gates, ours) || slices.ContainsFunc(b.gates, ours) {
		return
	}
	b.releasedLacking = nil
	if l, lacks := j.world.lacksNamed(b.pod); lacks && !l.excuses(b, j.rules) {
		l.charge = fmt.Sprintf("it lost its gate at resource version %s, when %s", b.event.revision, l.charge)
		b.releasedLacking = &l
	}
}

// judgeRequirements judges the binding of a pod that requires a sequence. was is what the pod was before, nil if it was created with
// its node, so that no scheduler had a say.
func (j *judge) judgeRequirements(b binding, was *podFacts) (judged, excused, early bool) {
	if was == nil || was.uid != b.uid || b.terminating {
		return false, false, false
	}
	var lacking []lack
	if j.rules.schedulers.Has(b.schedulerName) {
		if l, lacks := j.world.lacksNamed(b.pod); lacks {
			lacking = append(lacking, l)
		}
		if l, lacks := j.world.lacksAny(b.pod, j.inForce); lacks {
			lacking = append(lacking, l)
		}
	}
	for _, l := range lacking {
		if l.excuses(b, j.rules) {
			excused = true
			continue
		}
		early = true
		j.verdict.Violations = append(j.verdict.Violations, l.violation(b))
	}
	// A pod that does not name that sequence any more was released by somebody else.
	name := b.Namespace + "/" + b.labels[v1alpha1.SequenceLabel]
	if l := b.releasedLacking; l != nil && l.name == name && !early {
		early = true
		j.verdict.Violations = append(j.verdict.Violations, l.violation(b))
	}
	return early || excused, excused, early
}
