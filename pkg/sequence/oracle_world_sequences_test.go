package sequence

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// stepSequences creates, edits or deletes a sequence, or records its state in its status.
func (w *randomWorld) stepSequences(c *comparison) []event {
	if !w.near && (w.objects["Namespace"] == nil || w.oneIn(8)) {
		return w.stepConsent()
	}
	if w.namespaces > 0 && !w.oneIn(3) {
		return w.stepClusterSequences(c)
	}
	name := "seq-" + strconv.Itoa(w.IntN(3))
	if w.near && name == "seq-2" {
		name = "seq-1"
	}
	old, _ := w.objects["PodSequence"][name].(*v1alpha1.PodSequence)
	if old == nil {
		w.put("PodSequence", w.randomSequence(name))
		return nil
	}
	ps := old.DeepCopy()
	switch w.IntN(9) {
	case 8:
		w.override(ps)
	case 0:
		if w.oneIn(2) {
			w.drop("PodSequence", ps)
			return nil
		}
		if w.oneIn(2) { // gone and made again, with only the second event seen
			ps = w.randomSequence(name)
		}
	case 1, 2, 3:
		w.record(c, ps)
	case 4, 5:
		ps.Generation++
		ps.Spec.Suspend = !ps.Spec.Suspend && w.oneIn(2)
		if w.oneIn(3) {
			w.edit(c, ps)
		}
	default:
		ps.Generation++
		w.edit(c, ps)
	}
	w.aside(func() { w.changeObjects(ps) })
	w.put("PodSequence", ps)
	return nil
}

func (w *randomWorld) randomSequence(name string) *v1alpha1.PodSequence {
	s := MakeSequence(oracleNamespace, name)
	if w.IntN(10) < w.nodeScope {
		s.NodeScope()
	} else {
		s.Mode(pick(w, "", v1alpha1.BootstrapOnly, v1alpha1.Continuous))
	}
	if name == "seq-2" {
		s.TargetNamespace(oracleNamespace)
	}
	for range 1 + w.IntN(4) {
		s.Group(w.randomGroup(s.Spec.Scope))
	}
	if w.oneIn(2) {
		for i := range s.Spec.PodGroups {
			w.editOrder(&s.PodSequence, i)
		}
	}
	if w.oneIn(10) {
		s.Suspend()
	}
	s.Spec.DryRun = w.oneIn(12) || (s.Spec.Suspend && w.oneIn(4))
	return s.Obj()
}

func (w *randomWorld) randomGroup(scope v1alpha1.Scope) v1alpha1.PodGroup {
	s := MakeSequence(oracleNamespace, "")
	value := pick(w, "a", "b", "c")
	switch w.IntN(8) {
	case 0, 1:
		names := []string{"pod-0", "pod-1", "pod-2", "pod-3", "db-0", "db-1", "db-2", "cache-1"}
		w.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		s.Pods("", names[:1+w.IntN(3)]...)
	case 2, 3, 4:
		s.Label("", "tier", value)
	case 5:
		s.Expression("", "zone", pick(w, v1alpha1.LabelSelectorOpIn, v1alpha1.LabelSelectorOpNotIn), value, "b")
	case 6:
		s.Expression("", "zone", pick(w, v1alpha1.LabelSelectorOpExists, v1alpha1.LabelSelectorOpDoesNotExist))
	default:
		s.Label("", "", "")
	}
	if w.oneIn(6) {
		s.Complete()
	}
	g := s.Spec.PodGroups[0]
	w.aside(func() { w.requireUnusual(&g) })
	w.editRequirement(&g)
	if !w.oneIn(3) {
		g.MinAvailable = nil
	}
	if g.PodSelector != nil && w.oneIn(6) {
		g.ExpectedPods = int32(1 + w.IntN(4))
	}
	w.editTimes(&g)
	w.editMinReady(&g)
	if w.oneIn(40) { // stored when the rules were others
		g.Pods, g.PodSelector = nil, nil
	}
	if scope == v1alpha1.ScopeNode && w.oneIn(5) {
		g.NodeSelector = map[string]v1alpha1.LabelValue{"pool": pick[v1alpha1.LabelValue](w, "a", "b")}
	}
	w.aside(func() { w.requireObjects(&g) })
	if scope == v1alpha1.ScopeNode {
		w.asideBy(3, func() { w.requireConditions(&g) })
	}
	return g
}

// editOrder makes a group wait for other groups than before, or for none, or for all.
func (w *randomWorld) editOrder(ps *v1alpha1.PodSequence, i int) {
	g := &ps.Spec.PodGroups[i]
	g.Name = pick(w, fmt.Sprint("group-", i), fmt.Sprint("group-", i), fmt.Sprint("group-", w.IntN(5))) // a name may be there twice
	g.DependsOn, g.Skip = nil, w.oneIn(8)
	if w.oneIn(4) {
		return
	}
	g.DependsOn = []string{}
	for _, before := range ps.Spec.PodGroups[:i] {
		if before.Name != "" && w.oneIn(2) {
			g.DependsOn = append(g.DependsOn, before.Name)
		}
	}
	if w.oneIn(20) {
		g.DependsOn = append(g.DependsOn, "nobody") // stored when the rules were others
	}
}

// editSkip skips a group, most often the current one, or makes others wait for it again if one is skipped.
func (w *randomWorld) editSkip(c *comparison, ps *v1alpha1.PodSequence) {
	i := slices.IndexFunc(ps.Spec.PodGroups, func(g v1alpha1.PodGroup) bool { return g.Skip })
	if i < 0 || w.oneIn(4) {
		i = w.IntN(len(ps.Spec.PodGroups))
		if v := c.oracle.views[ps.Name]; v != nil && v.courses[""] != nil && v.courses[""].current < len(ps.Spec.PodGroups) && !w.oneIn(3) {
			i = v.courses[""].current
		}
	}
	ps.Spec.PodGroups[i].Skip = !ps.Spec.PodGroups[i].Skip
}

func (w *randomWorld) editRequirement(g *v1alpha1.PodGroup) {
	least := intstr.Parse(pick(w, "0", "1", "1", "2", "2", "3", "0%", "34%", "50%", "100%"))
	g.MinAvailable = &least
}

func (w *randomWorld) editTimes(g *v1alpha1.PodGroup) {
	if !w.waits {
		return
	}
	g.WaitDuration, g.Timeout, g.OnTimeout = "", "", ""
	if w.oneIn(2) {
		g.WaitDuration = pick[v1alpha1.Duration](w, "0s", "1s", "1500ms", "5s", "30s")
	}
	if w.oneIn(2) {
		g.Timeout = pick[v1alpha1.Duration](w, "500ms", "3s", "10s", "10s", "1m")
		g.OnTimeout = pick(w, "", v1alpha1.TimeoutFail, v1alpha1.TimeoutContinue, v1alpha1.TimeoutContinue)
	}
}

// edit changes the groups of a sequence.
func (w *randomWorld) edit(c *comparison, ps *v1alpha1.PodSequence) {
	groups := ps.Spec.PodGroups
	i := w.IntN(len(groups))
	g := &groups[i]
	if w.oneIn(10) {
		ps.Spec.DryRun = !ps.Spec.DryRun
		return
	}
	if w.oneIn(3) {
		if w.oneIn(2) {
			w.editOrder(ps, i)
		} else {
			w.editSkip(c, ps)
		}
		return
	}
	switch w.IntN(8) {
	case 0, 1:
		if len(groups) < 5 {
			ps.Spec.PodGroups = append(groups, w.randomGroup(ps.Spec.Scope))
		}
	case 2:
		ps.Spec = w.randomSequence(ps.Name).Spec
	case 3:
		w.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	case 4:
		w.editRequirement(g)
	case 5, 6:
		w.editTimes(g)
	default:
		if ps.Spec.Scope != v1alpha1.ScopeNode {
			ps.Spec.EnforcementMode = pick(w, v1alpha1.BootstrapOnly, v1alpha1.Continuous)
		} else {
			g.NodeSelector = map[string]v1alpha1.LabelValue{"pool": pick[v1alpha1.LabelValue](w, "a", "b")}
		}
	}
}

// record writes into status what the controller would.
func (w *randomWorld) record(c *comparison, ps *v1alpha1.PodSequence) {
	v := c.oracle.views[ps.Name]
	if v == nil || v.UID != ps.UID || v.Generation != ps.Generation {
		return
	}
	at := func(t time.Time) *metav1.Time {
		whole := metav1.NewTime(t.Truncate(time.Second))
		return &whole
	}
	now := at(w.clock)
	ps.ManagedFields = []metav1.ManagedFieldsEntry{{Subresource: "status", Time: now}}
	suspended := metav1.Condition{Type: v1alpha1.ConditionSuspended, Status: metav1.ConditionFalse, LastTransitionTime: *now}
	if v.Spec.Suspend {
		suspended.Status = metav1.ConditionTrue
	}
	if ps.Generation <= 1 && !v.Spec.Suspend && meta.FindStatusCondition(ps.Status.Conditions, suspended.Type) == nil {
		suspended.LastTransitionTime = ps.CreationTimestamp
	}
	meta.SetStatusCondition(&ps.Status.Conditions, suspended)
	meta.RemoveStatusCondition(&ps.Status.Conditions, v1alpha1.ConditionDegraded)
	w.recordDryRun(c, v, ps, now)
	w.recordStarts(c, v, ps)
	objects := keptObjects(ps)
	ps.Status.Groups, ps.Status.NodeStatus = nil, nil
	for i, definition := range v.definitions {
		group := v1alpha1.GroupStatus{Hash: c.hashes[definition], Objects: objects[i]}
		if v.Spec.PodGroups[i].Skip {
			group.Phase = v1alpha1.GroupSkipped // else a restarted program takes the skip for an edit that nobody saw
		}
		ps.Status.Groups = append(ps.Status.Groups, group)
	}
	for _, node := range slices.Sorted(maps.Keys(v.courses)) {
		if course := v.courses[node]; node == "" {
			w.recordGroups(v, course, ps, at)
		} else {
			w.recordNode(v, course, ps, at)
		}
	}
	w.remember(&ps.Status, func(i int) bool { return v.memory.completed.Has(v.definitions[i]) }, func(i int) *metav1.Time {
		if over := v.memory.failuresOver[v.definitions[i]]; !over.IsZero() {
			return at(over)
		}
		return nil
	}, func(i int) *metav1.Time {
		if lost := v.memory.lost[place{"", v.definitions[i]}]; !lost.IsZero() {
			return at(lost)
		}
		return nil
	})
}

func (w *randomWorld) recordGroups(v *view, course *course, ps *v1alpha1.PodSequence, at func(time.Time) *metav1.Time) {
	for i, definition := range v.definitions {
		s, here := &ps.Status.Groups[i], place{"", definition}
		if edited := later(v.memory.edited[here], v.allowed); !edited.IsZero() {
			s.ChangedAt = at(edited)
		}
		if course.mayStart(i) {
			s.ReleasedAt = at(course.releasedAt[i])
		}
		if v.memory.once.Has(here) {
			s.FirstSatisfiedAt = at(w.clock)
		}
		if satisfied := v.memory.satisfied[here]; satisfied.satisfied {
			s.SatisfiedAt = at(satisfied.since)
		}
		if course.passed[i] {
			s.PassedAt = at(later(course.passedAt[i], course.releasedAt[i]))
		}
	}
}

func (w *randomWorld) recordNode(v *view, course *course, ps *v1alpha1.PodSequence, at func(time.Time) *metav1.Time) {
	if v.memory.begun {
		ps.Status.Groups[0].ReleasedAt = at(w.clock)
	}
	n := v1alpha1.NodeStatus{NodeName: course.node, CurrentIndex: int32(course.current)}
	if course.current < len(course.groups) && v.memory.satisfied[place{course.node, v.definitions[course.current]}].satisfied {
		n.SatisfiedAt = at(v.memory.satisfied[place{course.node, v.definitions[course.current]}].since)
	}
	for i, definition := range v.definitions {
		if edited := later(v.memory.edited[place{course.node, definition}], v.allowed); !edited.IsZero() {
			ps.Status.Groups[i].ChangedAt = at(edited)
		}
	}
	ps.Status.NodeStatus = append(ps.Status.NodeStatus, n)
}
