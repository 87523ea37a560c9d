// Package timeline lays out when the pods of a sequence were created, released, bound and ready, which of them made everybody
// wait, and what it would win to shorten that. It knows API objects alone: their times are whole seconds, and of pods that are
// gone there is nothing.
package timeline

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/printable"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// Timeline is when what happened.
type Timeline struct {
	Sequence string `json:"sequence"`
	// PerNode reports that the order holds on each node by itself. Then there is no one critical path.
	PerNode bool `json:"perNode,omitempty"`
	// Begin is when the first pod was created, and End when the last one was ready, or now if some pod is not.
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"`
	// Finished reports whether every pod is ready.
	Finished bool    `json:"finished"`
	Groups   []Group `json:"groups"`
	// Critical is the chain of what everybody waited for, in order of time.
	Critical []Step `json:"criticalPath,omitempty"`
}

// Group is one group and its pods.
type Group struct {
	Title    string     `json:"title"`
	Released *time.Time `json:"released,omitempty"`
	// Satisfied is when enough pods were ready, and Passed when groups behind this one no longer waited for it.
	Satisfied *time.Time    `json:"satisfied,omitempty"`
	Passed    *time.Time    `json:"passed,omitempty"`
	Wait      time.Duration `json:"-"`
	Skipped   bool          `json:"skipped,omitempty"`
	Pods      []Pod         `json:"pods,omitempty"`

	predecessors []int
	need         int  // how many pods satisfy it
	memberless   bool // it waits for something else than pods
}

// missing returns how many pods do not exist that the group waits for.
func (g *Group) missing() int {
	if g.Satisfied != nil {
		return 0
	}
	counting := 0
	for _, p := range g.Pods {
		if !p.Late {
			counting++
		}
	}
	return max(0, g.need-counting)
}

// without says why a group has no pods.
func (g *Group) without() string {
	switch {
	case !g.memberless:
		return "no pods"
	case g.Passed != nil:
		return "no pods: passed"
	}
	return "no pods: waits for other things"
}

// label names the group with this 0-based index in a table.
func (g *Group) label(i int) string { return fmt.Sprintf("%d %s", i+1, printable.Name(g.Title)) }

// listed returns the pods to list, and how many are left out.
func (g *Group) listed(all bool) ([]Pod, int) {
	if all || len(g.Pods) <= maxPods {
		return g.Pods, 0
	}
	slowest := slices.Clone(g.Pods)
	slices.SortStableFunc(slowest, func(a, b Pod) int { return b.rank().Compare(a.rank()) })
	slowest = slowest[:maxPods]
	slices.SortFunc(slowest, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
	return slowest, len(g.Pods) - maxPods
}

// Pod is when one pod came by each step. What has not happened has no time.
type Pod struct {
	Name string `json:"name"`
	Node string `json:"node,omitempty"`
	// Created, Released, Bound and Ready follow each other. Released is when its group was released, or when it was created if
	// that was later.
	Created  time.Time  `json:"created"`
	Released *time.Time `json:"released,omitempty"`
	Bound    *time.Time `json:"bound,omitempty"`
	Ready    *time.Time `json:"ready,omitempty"`
	// Critical reports that everybody waited for it.
	Critical bool `json:"critical,omitempty"`
	// HeldBy is the other sequence that held it after this one had released it, and longest.
	HeldBy string `json:"heldBy,omitempty"`
	// Free is when the last sequence had released it.
	Free *time.Time `json:"-"`
	// Late reports that it was created after its group was passed: nobody waited for it.
	Late bool `json:"late,omitempty"`

	// early reports that it was bound before its group was released, so it waited for no other group.
	early bool
	// after is the pod that had to be ready before this one was created; nil if there is none.
	after *place
}

// waitForOthers finds out whether another sequence held a pod for longer than this one. Of a sequence of scope Node nobody records when it
// released a pod.
func (p *Pod) waitForOthers(world *snapshot.Snapshot, of *snapshot.Sequence, pod *corev1.Pod) {
	p.Free = p.Released
	if p.Released == nil || of.PerNode() {
		return
	}
	for _, place := range world.Places(pod) {
		other := world.Sequence(place.Sequence)
		if place.Sequence == of.Key() || !place.Governed || other.PerNode() {
			continue
		}
		if p.Bound == nil && place.Decision.Held {
			p.HeldBy, p.Free = other.String(), nil
			return
		}
		groups := world.Status(other).Groups
		if place.Group >= len(groups) || groups[place.Group].ReleasedAt == nil {
			continue
		}
		released := groups[place.Group].ReleasedAt.Time
		if released.After(*p.Free) && (p.Bound == nil || !released.After(*p.Bound)) {
			p.HeldBy, p.Free = other.String(), &released
		}
	}
}

// rank is the later the more the pod is worth listing.
func (p Pod) rank() time.Time {
	switch {
	case p.Critical || p.Ready == nil:
		return time.Unix(1<<40, 0)
	case p.Late:
		return time.Time{}
	}
	return *p.Ready
}

// New lays out what a snapshot has of a sequence.
func New(world *snapshot.Snapshot, s *snapshot.Sequence) *Timeline {
	t := &Timeline{Sequence: s.String(), PerNode: s.PerNode(), Finished: true}
	status := world.Status(s)
	members := world.MembersByGroup(s)
	for i := range s.Spec.PodGroups {
		g := Group{Title: s.Title(i), Skipped: s.Spec.PodGroups[i].Skip, predecessors: world.Predecessors(s, i)}
		g.Wait, _ = s.Spec.PodGroups[i].WaitDuration.Parse()
		record := v1alpha1.GroupStatus{}
		if i < len(status.Groups) {
			record = status.Groups[i]
		}
		g.Released, g.Passed, g.need = timeOf(record.ReleasedAt), timeOf(record.PassedAt), int(record.Expected)
		g.memberless = len(s.Spec.PodGroups[i].Pods) == 0 && s.Spec.PodGroups[i].PodSelector == nil
		g.Satisfied = timeOf(record.FirstSatisfiedAt)
		if g.Satisfied == nil {
			g.Satisfied = timeOf(record.SatisfiedAt)
		}
		for _, pod := range members[i] {
			p := podOf(pod, s, i, &g, t.PerNode)
			p.waitForOthers(world, s, pod)
			g.Pods = append(g.Pods, p)
		}
		t.Groups = append(t.Groups, g)
	}
	t.bound(world.Now.Truncate(time.Second)) // as the times of the API
	if !t.PerNode {
		t.chain(world, s)
		t.findCritical()
	}
	return t
}

// podOf reads the times of a pod.
func podOf(pod *corev1.Pod, s *snapshot.Sequence, i int, g *Group, perNode bool) Pod {
	p := Pod{Name: pod.Name, Node: pod.Spec.NodeName, Created: pod.CreationTimestamp.Time}
	if s.IsCluster() {
		p.Name = pod.Namespace + "/" + pod.Name
	}
	if pod.Spec.NodeName != "" {
		p.Bound = later(boundAt(pod), p.Created)
	}
	p.Ready = readyAt(pod, &s.Spec.PodGroups[i].PodGroup)
	p.Late = g.Passed != nil && p.Created.After(*g.Passed)
	all := s.Spec.PodGroups[i].MinAvailable == nil
	if p.Ready != nil && all && !p.Late && g.Satisfied != nil && p.Ready.After(*g.Satisfied) {
		p.Ready = g.Satisfied // it was ready by then, and once more later
	}
	if p.Ready != nil && p.Bound != nil {
		p.Ready = later(p.Ready, *p.Bound)
	}
	switch {
	case p.Bound != nil && (g.Released == nil || perNode):
		p.Released, p.early = p.Bound, len(g.predecessors) > 0
	case g.Released != nil && !perNode:
		p.Released = later(g.Released, p.Created)
		if p.Bound != nil && p.Released.After(*p.Bound) {
			p.Released, p.early = p.Bound, len(g.predecessors) > 0
		}
	}
	return p
}

// boundAt returns when a pod got its node. The API server says it in the condition PodScheduled, which kubelet drops and writes anew when it
// rejects a pod, with another time. But kubelet never changes startTime, when it first saw the pod, and that is after the binding. Of a
// pod that was created with a node it may be that nobody says anything.
func boundAt(pod *corev1.Pod) *time.Time {
	at := &pod.CreationTimestamp.Time
	if pod.Status.StartTime != nil {
		at = &pod.Status.StartTime.Time
	}
	c := condition(pod, corev1.PodScheduled)
	if c != nil && c.Status == corev1.ConditionTrue && (pod.Status.StartTime == nil || c.LastTransitionTime.Time.Before(*at)) {
		at = &c.LastTransitionTime.Time
	}
	return at
}

// readyAt returns since when a pod has what its group requires; nil if it has not.
func readyAt(pod *corev1.Pod, group *v1alpha1.PodGroup) *time.Time {
	if group.RequiredCondition != "" || group.RequiredStatus == v1alpha1.RequireStarted {
		at, reached := snapshot.ReachedAt(pod, group)
		if !reached {
			return nil
		}
		return later(&at, pod.CreationTimestamp.Time)
	}
	if inventory.HasSucceeded(pod) {
		last := pod.CreationTimestamp.Time
		for _, status := range pod.Status.ContainerStatuses {
			if ended := status.State.Terminated; ended != nil && ended.FinishedAt.After(last) {
				last = ended.FinishedAt.Time
			}
		}
		return &last
	}
	c := condition(pod, corev1.PodReady)
	if inventory.HasFailed(pod) || group.RequiredStatus == v1alpha1.RequireComplete || c == nil || c.Status != corev1.ConditionTrue {
		return nil
	}
	return &c.LastTransitionTime.Time
}

func condition(pod *corev1.Pod, conditionType corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == conditionType {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func timeOf(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

// later returns the later of two times.
func later(a *time.Time, b time.Time) *time.Time {
	if a.Before(b) {
		return &b
	}
	return a
}

// bound works out from when to when the timeline is, and sorts the pods.
func (t *Timeline) bound(now time.Time) {
	extend := func(at *time.Time) {
		if at != nil && at.After(t.End) {
			t.End = *at
		}
	}
	for i := range t.Groups {
		g := &t.Groups[i]
		slices.SortStableFunc(g.Pods, func(a, b Pod) int {
			byNode := 0
			if t.PerNode {
				byNode = cmp.Compare(a.Node, b.Node)
			}
			return cmp.Or(byNode, cmp.Compare(a.Name, b.Name))
		})
		for _, p := range g.Pods {
			if t.Begin.IsZero() || p.Created.Before(t.Begin) {
				t.Begin = p.Created
			}
			extend(&p.Created)
			extend(p.Released)
			extend(p.Bound)
			extend(p.Ready)
			if p.Ready == nil {
				t.Finished = false
				extend(&now)
			}
		}
		if len(g.Pods) == 0 && !g.Skipped && g.Passed == nil {
			t.Finished = false
		}
	}
	if t.Begin.IsZero() {
		t.Begin, t.End = now, now
	}
}

// legend returns the entries that the pods of the timeline need.
func (t *Timeline) legend() []legendRow {
	if t.hasOthers() {
		return legend
	}
	return slices.Concat(legend[:1], legend[2:])
}

// stretches returns the parts of the bar of a pod. Parts without length are left out, but for the last state.
func (t *Timeline) stretches(p Pod) []stretch {
	steps := []*time.Time{&p.Created, p.Released, p.Free, p.Bound, p.Ready}
	var parts []stretch
	for i, from := range steps {
		if from == nil {
			continue
		}
		to := t.End
		for _, next := range steps[i+1:] {
			if next != nil {
				to = *next
				break
			}
		}
		if to.After(*from) || i == len(steps)-1 {
			parts = append(parts, stretch{i, *from, to})
		}
	}
	return parts
}

// criticalOf returns from when to when everybody waited for a pod, if they did.
func (t *Timeline) criticalOf(p Pod) (from, to time.Time, ok bool) {
	if !p.Critical || p.Released == nil {
		return time.Time{}, time.Time{}, false
	}
	if p.Ready != nil {
		return *p.Released, *p.Ready, true
	}
	return *p.Released, t.End, true
}

// share returns which part of the whole time has passed, from 0 to 1.
func (t *Timeline) share(at time.Time) float64 {
	whole := t.End.Sub(t.Begin)
	if whole <= 0 {
		return 0
	}
	return min(max(float64(at.Sub(t.Begin))/float64(whole), 0), 1)
}

// ticks returns the round times of the scale.
func (t *Timeline) ticks() []time.Duration {
	whole := t.End.Sub(t.Begin)
	step := tick(whole)
	var at []time.Duration
	for next := time.Duration(0); next <= whole; next += step {
		at = append(at, next)
	}
	return at
}

// summary says how long the sequence took.
func (t *Timeline) summary() string {
	state := "all pods ready after"
	if !t.Finished {
		state = "not all pods are ready after"
	}
	return fmt.Sprintf("%s %s, from %s", state, span(t.End.Sub(t.Begin)), t.Begin.UTC().Format(time.RFC3339))
}

// describe says in words what a bar shows.
func (t *Timeline) describe(p Pod) string {
	held := ""
	if p.HeldBy != "" {
		held = fmt.Sprintf(", released by %s %s", p.HeldBy, t.since(p.Free))
	}
	return fmt.Sprintf("%s on %s: created %s, released %s%s, bound %s, ready %s", p.Name, p.Node,
		t.since(&p.Created), t.since(p.Released), held, t.since(p.Bound), t.since(p.Ready))
}

// since says how long after the beginning something was; a dash if it was not.
func (t *Timeline) since(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return span(at.Sub(t.Begin))
}

// hasOthers reports whether another sequence held some pod.
func (t *Timeline) hasOthers() bool {
	return slices.ContainsFunc(t.Groups, func(g Group) bool {
		return slices.ContainsFunc(g.Pods, func(p Pod) bool { return p.HeldBy != "" })
	})
}

// each calls visit with every pod.
func (t *Timeline) each(visit func(place, *Pod)) {
	for i := range t.Groups {
		for n := range t.Groups[i].Pods {
			visit(place{i, n}, &t.Groups[i].Pods[n])
		}
	}
}

func (t *Timeline) pod(at place) *Pod { return &t.Groups[at.group].Pods[at.pod] }

// title names a group.
func (t *Timeline) title(group int) string {
	return fmt.Sprintf("%d. %s", group+1, printable.Name(t.Groups[group].Title))
}

// SVG writes the timeline as a picture that needs nothing else.
func (t *Timeline) SVG(out io.Writer, all bool) error { return svg{t}.write(out, all) }

// HTML writes the timeline as a page that needs nothing else.
func (t *Timeline) HTML(out io.Writer, all bool) error {
	if err := page.Execute(out, newDocument(t, all)); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
