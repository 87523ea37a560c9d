package sequence

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
)

// Report describes the sequence with this key, if there is one.
func (e *Engine) Report(key types.NamespacedName) (report.Report, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()

	s := e.sequences[key]
	if s == nil {
		return report.Report{}, false
	}
	r := report.Report{
		UID: s.UID, Generation: s.Generation, Object: s.object, Cluster: s.cluster, PerNode: s.PerNode, Continuous: s.Continuous, Suspended: s.Suspended, Override: s.Override, Refused: s.refused(),
		Resumed: !s.resumedSeen.IsZero(),
		Groups:  make([]report.Group, len(s.groups)), Problems: s.problems(),
	}
	r.Failures = s.allFailures()
	if s.dry != nil {
		r.DryRun = e.reportDryRun(s)
	}
	if s.PerNode {
		e.reportNodes(s, &r)
	} else {
		d := s.nodeless
		r.Current = d.current()
		for i := range s.groups {
			r.Groups[i] = d.report(i, e.now)
			r.Groups[i].LostAt = d.LostAt(i) // of a node status records less
		}
	}
	if problem, ok := r.TimedOutNodes(); ok {
		r.Problems = append(r.Problems, problem)
	}
	if r.OutOfOrder = e.reportOutOfOrder(s); r.OutOfOrder != nil {
		r.Problems = append(r.Problems, r.OutOfOrder.Problem(s.Sequence)) // the others keep something from working
	}
	if !s.refused() {
		r.Problems = append(e.problems(s), r.Problems...)
		// Pods that nothing holds come first as long as none of them has started: then that is what is wrong.
		if r.Ungoverned = e.settings.ungoverned(s, r.OutOfOrder != nil); len(r.Ungoverned) > 0 {
			at := 0
			if r.OutOfOrder != nil {
				at = len(r.Problems)
			}
			r.Problems = slices.Insert(r.Problems, at, report.Ungoverned(r.Ungoverned, s.Sequence, e.settings.SchedulerNames))
		}
	}
	return r, true
}

// report describes a group in one domain.
func (d *domain) report(i int, now time.Time) report.Group {
	g, state := d.sequence.groups[i], d.peek(i)
	n := d.need(i)
	r := report.Group{
		Title: g.Title, ContinueOnTimeout: g.ContinueOnTimeout, Timeout: g.Timeout, Hash: g.Hash, Expected: n.Expected, Ready: n.Ready, Satisfied: d.looksSatisfied(i), SatisfiedAt: d.since(i),
		Released: d.Released.Has(i), ReleasedBefore: d.ReleasedBefore.Has(i), Progress: n.String() + d.delays(i), Members: make([]string, 0, len(state.members)),
		SatisfiedOnce: d.Once.Has(i), Completed: d.Completed.Has(i), FailuresOverAt: g.failuresOverAt, Skipped: g.Skip, EditedAt: latest(g.editedAt, d.sequence.allowedAt),
		Objects: g.Objects, WithoutMembers: g.WithoutMembers, ObjectReason: n.ObjectReason(),
	}
	if r.Recording = d.Ripe.Has(i); r.Recording {
		r.Progress += ", its pass is being recorded"
	}
	if g.MinAvailable != nil {
		r.Expected = n.Required
	}
	if r.Released && !d.isNode() {
		r.ReleasedAt = d.releasedAt(i)
	}
	if r.Passed = d.Passed.Has(i); r.Passed {
		r.PassedAt = d.PassedAt(i)
	}
	if r.Current = d.Current().Has(i); r.Current {
		r.Failure = d.failure(i, now)
		if d.looksSatisfied(i) && !r.Recording {
			r.Progress += ", waitDuration ends at " + d.waitOver(i).UTC().Format(time.RFC3339)
		}
	}
	troubled := map[string]*node{}
	for p := range state.members {
		if p.IsReplaced() {
			continue // its replacement is a member
		}
		r.Members = append(r.Members, d.sequence.nameOf(p))
		if d.isDone(p, i) {
			r.ReadyMembers = append(r.ReadyMembers, d.sequence.nameOf(p))
		} else if n := d.sequence.knowledge.nodes.byName[p.Node]; n != nil && n.troubled() {
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
func (d *domain) failure(i int, now time.Time) *order.Problem {
	g := d.sequence.groups[i]
	if d.looksSatisfied(i) || g.Skip {
		return nil
	}
	switch failure := d.failureOfMembers(i); {
	case failure != nil:
		return failure
	case d.node == nil && len(d.lostIn(i)) > 0:
		return ptr.To(report.Lost(d.where(i), d.lostIn(i), d.sequence.Cluster))
	case !g.ContinueOnTimeout && d.timedOut(i, now):
		return ptr.To(report.TimedOut(d.where(i), g.Timeout, d.need(i), d.delays(i)))
	}
	return nil
}

// problems are those that pods bring about.
func (k *knowledge) problems(s *sequence) []order.Problem {
	var problems []order.Problem
	for _, find := range []func(*sequence) (order.Problem, bool){
		k.settings.unsupportedPods, (*sequence).splitPodGroups, k.outdatedPods, (*sequence).unreadableObjects, k.strayPods, (*sequence).starvedByQuota,
	} {
		if p, ok := find(s); ok {
			problems = append(problems, p)
		}
	}
	d := s.nodeless
	for i := range (d.Passed &^ s.Skipped).All() {
		if g := s.groups[i]; g.ContinueOnTimeout && !d.looksSatisfied(i) && d.passedByTimeout(i, k.now) {
			problems = append(problems, report.WentOn(d.where(i)))
		}
		if names, unprobed := d.crashLooping(i); len(names) > 0 {
			problems = append(problems, report.CrashLooping(d.where(i), names, i == len(s.groups)-1, unprobed))
		}
	}
	return problems
}

// passedByTimeout reports whether a group that is passed was so because its time was over. A pass that is recorded says so itself: its time
// may be another one since, as after a suspension.
func (d *domain) passedByTimeout(i int, now time.Time) bool {
	if pass, recorded := d.RecordedPass(i); recorded {
		return pass.TimedOut
	}
	return d.timedOut(i, now) && !d.PassedAt(i).Before(d.deadline(i))
}

// outdatedPods reports pods of an older revision that are not ready and that is not replaced.
func (k *knowledge) outdatedPods(s *sequence) (order.Problem, bool) {
	var pods []string
	for _, d := range s.domains {
		for _, state := range d.groupStates {
			if d.looksSatisfied(state.group) {
				continue // it needs none of them
			}
			for p := range state.members {
				if set := k.outdatedBy(p); set != nil {
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

// outdatedBy returns the StatefulSet of a member that is not ready and of an older revision; nil if it is none, or if its set replaces it.
func (k *knowledge) outdatedBy(p *pod) *workload {
	if p.Terminating || p.Failed || p.Ready {
		return nil
	}
	owner := k.workloads.ownerOf(p)
	w := owner.workload
	if w == nil || !w.LeavesOldPods() || w.IsUpToDate(owner.revision) || !w.Wants(p.Pod) {
		return nil
	}
	return w
}

// Outdated says that a pod that is not ready is of an older revision, and that its StatefulSet does not replace it; empty if it is not so.
func (e *Engine) Outdated(object *corev1.Pod) string {
	e.mu.RLock()
	defer e.mu.RUnlock()

	if p, known := e.find(object); known {
		if set := e.outdatedBy(p); set != nil {
			return report.Outdated(&set.Workload)
		}
	}
	return ""
}

// Waiting are the unbound members of groups that must still wait.
func (e *Engine) Waiting(key types.NamespacedName) []types.NamespacedName {
	e.mu.RLock()
	defer e.mu.RUnlock()

	s := e.sequences[key]
	if s == nil {
		return nil
	}
	var waiting []types.NamespacedName
	d := s.nodeless
	for i := range s.groups {
		if !s.PerNode && d.Released.Has(i) {
			continue
		}
		for p := range d.peek(i).members {
			if !p.Bound() && !e.mayBeScheduled(p) {
				waiting = append(waiting, p.key())
			}
		}
	}
	return waiting
}

// delays says which paused Deployments keep the group from being ready, and which DaemonSets with ready pods that their controllers do not
// count.
func (d *domain) delays(i int) string {
	var paused []*inventory.Workload
	var uncounted []readiness.Demand
	for demand := range d.sequence.groups[i].demands {
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
	if d.peek(i).demands.Failed > len(d.failedJobs(i)) || len(d.sequence.failuresIn(i)) > len(d.lostIn(i)) {
		succeeding = report.Succeeding(d.newestJob(i), d.sequence.Cluster)
	}
	return succeeding + report.PausedWorkloads(paused, d.sequence.Cluster) + report.Uncounted(uncounted, d.sequence.Cluster)
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

// reportNodes describes the nodes that take part, and sums them up.
func (k *knowledge) reportNodes(s *sequence, r *report.Report) {
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
					if owner := k.workloads.ownerOf(p); owner.workload == nil || owner.workload.demands[s] == nil {
						group.Expected++ // the pods of a DaemonSet are expected on its nodes
					}
				}
			}
			continue
		}
		if node, takesPart := k.reportNode(d, r.Groups); takesPart {
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

// reportNode describes one node and adds its numbers to those of the groups.
func (k *knowledge) reportNode(d *domain, sums []report.Group) (node report.Node, takesPart bool) {
	node = report.Node{Name: d.name, Current: len(d.sequence.groups), Completed: true}
	var involved []int
	for i, g := range d.sequence.groups {
		if d.applies(g) && d.timedOut(i, k.now) {
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
		if d.sequence.groups[i].Skip {
			continue // nobody waits for it
		}
		if !d.looksSatisfied(i) {
			node.Completed, sums[i].Satisfied = false, false
		}
		if d.IsDone(d.progressFacts(), i, k.now) {
			continue
		}
		if sums[i].Awaited = true; node.Group == nil {
			group := d.report(i, k.now)
			node.Current, node.Group = i, &group
		}
	}
	return node, true
}

// A stray pod names a PodSequence of its namespace by its label, and no group of that sequence selects it. Each namespace keeps its stray
// pods by the name of the sequence, so that what a report costs does not grow with the pods that are members.

// strayPods reports the pods that name the sequence and that none of its groups selects. Whether one does is not known of a spec that
// cannot be read.
func (k *knowledge) strayPods(s *sequence) (order.Problem, bool) {
	ns := k.namespaces[s.Key.Namespace]
	if ns == nil || s.Cluster || len(ns.strays[s.Key.Name]) == 0 || s.isUnreadable() {
		return order.Problem{}, false
	}
	var pods []report.StrayPod
	for p := range ns.strays[s.Key.Name] {
		pods = append(pods, report.StrayPodOf(p.Pod))
	}
	return report.StrayPods(pods, s.Sequence), true
}

// decision says what holds the pod.
func (k *knowledge) decision(p *pod) (d report.Decision) {
	h := k.holderOf(p)
	switch h.missing {
	case order.NamedMissing:
		d.Held, d.Reason = true, report.HeldUntilCreated
		d.Sequence = types.NamespacedName{Namespace: p.Namespace, Name: order.NamedSequence(&p.Labels)}
		return d
	case order.AnyMissing:
		d.Held, d.Reason, d.Sequence.Namespace = true, report.HeldUntilSelected, p.Namespace
		return d
	}
	by := h.place
	if by == nil {
		return d
	}
	s := by.sequence
	d.Held, d.Sequence, d.Groups, d.Overridden = true, s.Key, len(s.groups), s.Override.Suspend
	d.Group, d.Title = by.group, s.groups[by.group].Title
	switch {
	case h.rule == hold.ByGroup:
		s.nodeless.describe(&d, k.now)
	case h.rule == hold.Unsupported:
		d.Reason, d.SchedulerNames = report.HeldUnsupported, k.settings.SchedulerNames
	case p.kept != nil:
		n := k.unplaced.nodeOfPin(p.Pin())
		if d.Node = p.Pin().Node + p.Pin().Host; n == nil {
			d.Reason = report.HeldByUnknownNode
			break
		}
		d.Node = n.Name
		s.describeOn(&d, n, k.now)
	default:
		d.Reason = report.HeldUnseen
	}
	return d
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
