package sequence

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
)

// reporter describes a sequence. It needs the engine's lock.
type reporter struct{ *sequence }

// report describes all of it.
func (s reporter) report() report.Report {
	r := report.Report{
		UID: s.UID, Generation: s.Generation, Object: s.object, Cluster: s.cluster, PerNode: s.PerNode, Continuous: s.Continuous, Suspended: s.Suspended, Override: s.Override, Refused: s.refused(),
		Resumed: !s.resumedSeen.IsZero(),
		Groups:  make([]report.Group, len(s.groups)), Problems: s.sequence.problems(),
	}
	r.Failures = s.failures.listed()
	if s.dry != nil {
		r.DryRun = s.dry.report(s.sequence)
	}
	if s.PerNode {
		s.nodes(&r)
	} else {
		d := s.nodeless
		r.Current = d.current()
		for i := range s.groups {
			r.Groups[i] = s.group(d, i)
			r.Groups[i].LostAt = d.LostAt(i) // of a node status records less
		}
	}
	if problem, ok := r.TimedOutNodes(); ok {
		r.Problems = append(r.Problems, problem)
	}
	if r.OutOfOrder = s.outOfOrder.report(); r.OutOfOrder != nil {
		r.Problems = append(r.Problems, r.OutOfOrder.Problem(s.Sequence)) // the others keep something from working
	}
	if !s.refused() {
		r.Problems = append(s.problemsOfPods(), r.Problems...)
		// Pods that nothing holds come first as long as none of them has started: then that is what is wrong.
		if r.Ungoverned = s.knowledge.settings.ungoverned(s.sequence, r.OutOfOrder != nil); len(r.Ungoverned) > 0 {
			at := 0
			if r.OutOfOrder != nil {
				at = len(r.Problems)
			}
			r.Problems = slices.Insert(r.Problems, at, report.Ungoverned(r.Ungoverned, s.Sequence, s.knowledge.settings.SchedulerNames))
		}
	}
	return r
}

// group describes a group in one domain.
func (s reporter) group(d *domain, i int) report.Group {
	g, state := s.groups[i], d.peek(i)
	n := d.need(i)
	r := report.Group{
		Title: g.Title, ContinueOnTimeout: g.ContinueOnTimeout, Timeout: g.Timeout, Hash: g.Hash, Expected: n.Expected, Ready: n.Ready, Satisfied: d.looksSatisfied(i), SatisfiedAt: d.since(i),
		Released: d.Released.Has(i), ReleasedBefore: d.ReleasedBefore.Has(i), Progress: n.String() + s.delays(d, i), Members: make([]string, 0, len(state.members)),
		SatisfiedOnce: d.Once.Has(i), Completed: d.Completed.Has(i), FailuresOverAt: g.failuresOverAt, Skipped: g.Skip, EditedAt: latest(g.editedAt, s.allowedAt),
		Objects: g.Objects, WithoutMembers: g.WithoutMembers, ObjectReason: n.ObjectReason(),
	}
	if r.Recording = d.Ripe.Has(i); r.Recording {
		r.Progress += ", its pass is being recorded"
	}
	if g.MinAvailable != nil {
		r.Expected = n.Required
	}
	if r.Released && !d.isNode() {
		r.ReleasedAt = d.ReleasedAt(d.progressFacts(), i)
	}
	if r.Passed = d.Passed.Has(i); r.Passed {
		r.PassedAt = d.PassedAt(i)
	}
	if r.Current = d.Current().Has(i); r.Current {
		r.Failure = s.failure(d, i)
		if d.looksSatisfied(i) && !r.Recording {
			r.Progress += ", waitDuration ends at " + d.waitOver(i).UTC().Format(time.RFC3339)
		}
	}
	troubled := map[string]*node{}
	for p := range state.members {
		if p.IsReplaced() {
			continue // its replacement is a member
		}
		r.Members = append(r.Members, s.nameOf(p))
		if d.isDone(p, i) {
			r.ReadyMembers = append(r.ReadyMembers, s.nameOf(p))
		} else if n := s.knowledge.nodes.byName[p.Node]; n != nil && n.troubled() {
			troubled[n.Name] = n
		}
	}
	if d.node != nil && len(r.Members) < r.Expected && !d.node.NotReady.IsZero() {
		troubled[d.name] = d.node // a DaemonSet has no pod there
	}
	if !d.looksSatisfied(i) {
		r.NodeTrouble = troubles(troubled)
	}
	slices.Sort(r.Members)
	slices.Sort(r.ReadyMembers)
	return r
}

// failure is why the group will not be satisfied without intervention.
func (s reporter) failure(d *domain, i int) *order.Problem {
	g := s.groups[i]
	if d.looksSatisfied(i) || g.Skip {
		return nil
	}
	switch failure := d.failureOfMembers(i); {
	case failure != nil:
		return failure
	case d.node == nil && len(s.failures.unreplaced(i)) > 0:
		return ptr.To(report.Lost(d.where(i), s.failures.unreplaced(i), s.Cluster))
	case !g.ContinueOnTimeout && d.timedOut(i, s.knowledge.now):
		return ptr.To(report.TimedOut(d.where(i), g.Timeout, d.need(i), s.delays(d, i)))
	}
	return nil
}

// problemsOfPods are those that pods bring about.
func (s reporter) problemsOfPods() []order.Problem {
	var problems []order.Problem
	for _, find := range []func() (order.Problem, bool){
		s.unsupportedPods, s.splitPodGroups, s.outdatedPods, s.unreadableObjects, s.strayPods, s.starvedByQuota,
	} {
		if p, ok := find(); ok {
			problems = append(problems, p)
		}
	}
	d := s.nodeless
	for i := range (d.Passed &^ s.Skipped).All() {
		if g := s.groups[i]; g.ContinueOnTimeout && !d.looksSatisfied(i) && s.passedByTimeout(d, i) {
			problems = append(problems, report.WentOn(d.where(i)))
		}
		if names, unprobed := s.crashLooping(d, i); len(names) > 0 {
			problems = append(problems, report.CrashLooping(d.where(i), names, i == len(s.groups)-1, unprobed))
		}
	}
	return problems
}

// passedByTimeout reports whether a group that is passed was so because its time was over. A pass that is recorded says so itself: its time
// may be another one since, as after a suspension.
func (s reporter) passedByTimeout(d *domain, i int) bool {
	if pass, recorded := d.RecordedPass(i); recorded {
		return pass.TimedOut
	}
	return d.timedOut(i, s.knowledge.now) && !d.PassedAt(i).Before(d.Deadline(d.progressFacts(), i))
}

// outdatedPods reports pods of an older revision that are not ready and that is not replaced.
func (s reporter) outdatedPods() (order.Problem, bool) {
	var pods []string
	for _, d := range s.domains {
		for _, state := range d.groupStates {
			if d.looksSatisfied(state.group) {
				continue // it needs none of them
			}
			for p := range state.members {
				if set := s.knowledge.workloads.outdatedBy(p); set != nil {
					pods = append(pods, report.OutdatedPod(s.nameOf(p), &set.Workload))
				}
			}
		}
	}
	if len(pods) == 0 {
		return order.Problem{}, false
	}
	return report.OutdatedPods(pods), true
}

// delays says which paused Deployments keep the group from being ready, and which DaemonSets with ready pods that their controllers do not
// count.
func (s reporter) delays(d *domain, i int) string {
	var paused []*inventory.Workload
	var uncounted []readiness.Demand
	for demand := range s.groups[i].demands {
		if demand.entered.Short == 0 {
			continue
		}
		if w := &demand.workload.Workload; w.Pause.Paused {
			paused = append(paused, w)
		}
		if facts := demand.facts(); facts.CountsWhereDue() && facts.ReadyWhereDue() < facts.Done {
			uncounted = append(uncounted, facts)
		}
	}
	succeeding := ""
	if d.peek(i).demands.Failed > len(d.failedJobs(i)) || len(s.failures.in(i)) > len(s.failures.unreplaced(i)) {
		succeeding = report.Succeeding(s.groups[i].newestJob(), s.Cluster)
	}
	return succeeding + report.PausedWorkloads(paused, s.Cluster) + report.Uncounted(uncounted, s.Cluster)
}

// troubles says what is wrong with the first of these nodes, and that there are others.
func troubles(of map[string]*node) string {
	if len(of) == 0 {
		return ""
	}
	first := slices.Sorted(maps.Keys(of))[0]
	text := report.NodeTrouble(&of[first].Node)
	if more := len(of) - 1; more > 0 {
		text += fmt.Sprintf("; pods are not ready on %d more nodes that are not ready or cordoned", more)
	}
	return text
}

// nodes describes the nodes that take part, and sums them up.
func (s reporter) nodes(r *report.Report) {
	released := hold.Released(order.Before(len(s.groups)), s.releasedAtFirst(), s.Suspended, s.refused())
	for i, g := range s.groups {
		r.Groups[i] = report.Group{
			Title: g.Title, ContinueOnTimeout: g.ContinueOnTimeout, Timeout: g.Timeout, Hash: g.Hash, Satisfied: true, Members: []string{}, Skipped: g.Skip,
			EditedAt: latest(g.editedAt, s.allowedAt),
			Released: released.Has(i), Objects: g.Objects, WithoutMembers: g.WithoutMembers,
		}
		if objects := g.objects.Need(); !objects.IsSatisfied() {
			alone := readiness.Need{Memberless: true, Objects: objects}
			r.Groups[i].Progress, r.Groups[i].ObjectReason = alone.String(), alone.ObjectReason()
			r.Groups[i].Satisfied = false
		}
		if i == 0 && r.Groups[0].Released {
			r.Groups[0].ReleasedAt = s.created
		}
	}
	for _, d := range s.domains {
		if !d.isNode() {
			for _, state := range d.groupStates {
				group := &r.Groups[state.group]
				for p := range state.members {
					if p.IsReplaced() {
						continue
					}
					r.Unbound++
					group.Satisfied = false
					if owner := s.knowledge.workloads.ownerOf(p); owner.workload == nil || owner.workload.demands[s.sequence] == nil {
						group.Expected++ // the pods of a DaemonSet are expected on its nodes
					}
				}
			}
			continue
		}
		if node, takesPart := s.node(d, r.Groups); takesPart {
			r.Nodes = append(r.Nodes, node)
		}
	}
	slices.SortFunc(r.Nodes, func(a, b report.Node) int { return strings.Compare(a.Name, b.Name) })
	for i := range r.Groups {
		g := &r.Groups[i]
		g.Satisfied = g.Satisfied && (g.Expected > 0 || g.WithoutMembers)
	}
	if len(r.Nodes) > 0 {
		r.Current = slices.MinFunc(r.Nodes, func(a, b report.Node) int { return a.Current - b.Current }).Current
	}
}

// node describes one node and adds its numbers to those of the groups.
func (s reporter) node(d *domain, sums []report.Group) (node report.Node, takesPart bool) {
	node = report.Node{Name: d.name, Current: len(s.groups), Completed: true}
	var involved []int
	for i, g := range s.groups {
		if d.applies(g) && d.timedOut(i, s.knowledge.now) {
			node.TimedOut = append(node.TimedOut, int32(i))
		}
		n := d.need(i)
		if n.Expected > 0 {
			takesPart = true
			sums[i].Expected += n.Expected
			sums[i].Ready += min(n.Ready, n.Expected)
		}
		if n.Expected > 0 || (g.OnEveryNode && d.applies(g)) {
			takesPart = takesPart || len(g.NodeConditions) > 0
			involved = append(involved, i)
		}
	}
	if !takesPart {
		return node, false
	}
	for _, i := range involved {
		if s.groups[i].Skip {
			continue // nobody waits for it
		}
		if !d.looksSatisfied(i) {
			node.Completed, sums[i].Satisfied = false, false
		}
		if d.IsDone(d.progressFacts(), i, s.knowledge.now) {
			continue
		}
		if sums[i].Awaited = true; node.Group == nil {
			group := s.group(d, i)
			node.Current, node.Group = i, &group
		}
	}
	return node, true
}

// A stray pod names a PodSequence of its namespace by its label, and no group of that sequence selects it. Each namespace keeps its stray
// pods by the name of the sequence, so that what a report costs does not grow with the pods that are members.

// strayPods reports the pods that name the sequence and that none of its groups selects. Whether one does is not known of a spec that
// cannot be read.
func (s reporter) strayPods() (order.Problem, bool) {
	ns := s.knowledge.namespaces[s.Key.Namespace]
	if ns == nil || s.Cluster || len(ns.strays[s.Key.Name]) == 0 || s.isUnreadable() {
		return order.Problem{}, false
	}
	var pods []report.StrayPod
	for p := range ns.strays[s.Key.Name] {
		pods = append(pods, report.StrayPodOf(p.Pod))
	}
	return report.StrayPods(pods, s.Sequence), true
}

// crashLooping names the members of a passed group that is not ready any more, and whose containers are restarted again and again.
func (s reporter) crashLooping(d *domain, group int) (names []string, unprobed bool) {
	if d.looksSatisfied(group) {
		return nil, false
	}
	for p := range d.peek(group).members {
		if p.Crashing && !d.isDone(p, group) {
			names, unprobed = append(names, s.nameOf(p)), unprobed || p.Unprobed
		}
	}
	return names, unprobed
}

// unsupportedPods reports gated pods that no scheduler of ours can place on a node in order.
func (s reporter) unsupportedPods() (order.Problem, bool) {
	if !s.PerNode {
		return order.Problem{}, false
	}
	set := &s.knowledge.settings
	if set.ClusterScopeOnly {
		return report.UnsupportedScope(), true
	}
	var names []string
	for i := range s.groups {
		for p := range s.nodeless.peek(i).members {
			if set.holdFacts(p, membership{s.sequence, i}).Rule() == hold.Unsupported {
				names = append(names, s.nameOf(p))
			}
		}
	}
	if len(names) == 0 {
		return order.Problem{}, false
	}
	return report.UnsupportedPods(names, set.SchedulerNames), true
}

// Place is the group that one sequence has for a pod.
type Place struct {
	Sequence types.NamespacedName
	Group    int
	// Governed reports whether the sequence can hold the pod: our scheduler places it, or it carries the gate of the sequence.
	Governed bool
	// Decision says whether this sequence holds the pod, whatever other sequences say.
	Decision report.Decision
}

// WorkloadPart is what one workload adds to a group that selects its pods.
type WorkloadPart struct {
	Kind            inventory.Kind
	Namespace, Name string
	// Expected counts the pods that the group expects of the workload, and Ready those of them that are done.
	Expected, Ready int
	// Short reports that too few of its pods are done, or that a Job is not complete.
	Short bool
	// Unobserved reports that its controller has not seen its newest generation yet.
	Unobserved bool
	// Failure says why a Job failed; empty if it did not.
	Failure string
}

// Object is what is recorded of an object that a group waits for.
type Object = readiness.Object
