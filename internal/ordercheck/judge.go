package ordercheck

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// DefaultSchedulerName is the profile whose pods are governed unless told otherwise.
const DefaultSchedulerName = "podsequence-scheduler"

// JudgeOptions say what to judge.
type JudgeOptions struct {
	// SchedulerNames are the profiles of our schedulers: their pods are governed. Defaults to DefaultSchedulerName.
	SchedulerNames []string
	// Namespace limits the verdict to the pods of one namespace. Empty means all.
	Namespace string
}

// Judge replays a history and says what was bound before its turn. It is a pure function.
func Judge(history History, options JudgeOptions) Verdict {
	j := newJudge(history, options)
	first := history.sinceStart()
	for _, e := range history.events[:first] {
		j.recall(e)
	}
	j.assume()
	for _, e := range history.events[first:] {
		j.replay(e)
	}
	j.verdict.Sequences = j.sequencesSeen.Len()
	return j.verdict
}

// judge is the state of a replay.
type judge struct {
	schedulers sets.Set[string]
	namespace  string
	world      *world
	inForce    []*version // one a sequence, oldest first

	sequencesSeen sets.Set[string] // UIDs
	verdict       Verdict
}

func newJudge(history History, options JudgeOptions) *judge {
	schedulers := options.SchedulerNames
	if len(schedulers) == 0 {
		schedulers = []string{DefaultSchedulerName}
	}
	return &judge{
		schedulers:    sets.New(schedulers...),
		namespace:     options.Namespace,
		world:         newWorld(),
		sequencesSeen: sets.New[string](),
		verdict: Verdict{
			ResourceVersion: history.end.String(),
			Violations:      []Violation{}, // a list in JSON, even if empty
			Incomplete:      slices.Clone(history.gaps),
		},
	}
}

// concerns says whether the verdict is about pods of the namespace. Sequences of other namespaces are followed all the
// same, since an edit can point them here.
func (j *judge) concerns(namespace string) bool {
	return j.namespace == "" || j.namespace == namespace
}

func (j *judge) count(namespace string) {
	if j.concerns(namespace) {
		j.verdict.Events++
	}
}

// recall takes in what was there when the watch began. Nothing is worked out before all of it is in: half of it would
// show groups satisfied that were not.
func (j *judge) recall(e event) {
	j.count(e.namespace())
	switch {
	case e.pod != nil && e.deleted:
		j.world.remove(e.pod)
	case e.pod != nil:
		j.world.put(e.pod, 0)
	default:
		j.end(e.sequence)
		if !e.deleted {
			j.inForce = append(j.inForce, &version{sequenceFacts: e.sequence})
		}
	}
}

// assume works out how far the sequences were that are older than the watch.
func (j *judge) assume() {
	boundBefore := sets.New[*pod]()
	for i, recalled := range j.inForce {
		v := newVersion(recalled.sequenceFacts, j.schedulers, 0, j.world)
		v.assume(v.recorded)
		v.advance(j.world)
		j.inForce[i] = v
		j.meet(v)
		for name := range v.placed {
			if p := j.world.get(v.target, name); p.node != "" && v.governs(p) && j.concerns(p.Namespace) {
				boundBefore.Insert(p)
			}
		}
	}
	j.verdict.BoundBefore = boundBefore.Len()
}

// replay takes in a change that came while everything was watched.
func (j *judge) replay(e event) {
	j.count(e.namespace())
	switch {
	case e.pod != nil && e.deleted:
		j.world.remove(e.pod)
		j.follow(&pod{podFacts: e.pod})
	case e.pod != nil:
		p, bound := j.world.put(e.pod, e.revision)
		if bound && j.concerns(p.Namespace) {
			// Before anyone follows: a binding must be justified by what was so before it.
			j.judgeBinding(p, e)
		}
		j.follow(p)
	case e.deleted:
		j.end(e.sequence)
	default:
		j.bringIntoForce(e)
	}
}

func (j *judge) follow(p *pod) {
	for _, v := range j.inForce {
		v.follow(p, j.world)
		j.own(v)
	}
}

// end takes a sequence out of force; another of the same name is another sequence.
func (j *judge) end(f *sequenceFacts) {
	j.inForce = slices.DeleteFunc(j.inForce, func(v *version) bool { return v.uid == f.uid })
}

func (j *judge) bringIntoForce(e event) {
	for i, v := range j.inForce {
		if v.uid != e.sequence.uid {
			continue
		}
		if v.generation != e.sequence.generation {
			j.inForce[i] = v.succeed(e.sequence, j.world, e)
			j.meet(j.inForce[i])
		}
		return
	}
	v := newVersion(e.sequence, j.schedulers, 0, j.world)
	v.since, v.arrived = e.revision, e.arrived
	j.inForce = append(j.inForce, v)
	j.meet(v)
}

// meet counts a sequence and says if it is beyond judging.
func (j *judge) meet(v *version) {
	if !j.concerns(v.target) {
		return
	}
	j.own(v)
	j.sequencesSeen.Insert(string(v.uid))
	if v.unclear != "" {
		j.verdict.Incomplete = append(j.verdict.Incomplete, "PodSequence "+v.String()+": "+v.unclear)
	}
}

// own owns up to what a version took on trust since it was last asked.
func (j *judge) own(v *version) {
	if j.concerns(v.target) {
		j.verdict.AssumedPasses += v.assumed
	}
	v.assumed = 0
}

// judgeBinding asks the leave of every sequence that holds the pod.
func (j *judge) judgeBinding(p *pod, e event) {
	judged, excused := false, false
	for _, v := range j.inForce {
		group, ok := v.groupOf(p.podFacts)
		if !ok || p.terminating || !v.governs(p) {
			continue
		}
		judged = true
		allowed, byRace := v.allows(p, e.arrived)
		excused = excused || byRace
		if !allowed {
			p.early = true
			j.verdict.Violations = append(j.verdict.Violations, v.violation(group, p, e, j.world))
		}
	}
	if judged {
		j.verdict.Bindings++
	}
	if excused && !p.early {
		j.verdict.Excused++
	}
}
