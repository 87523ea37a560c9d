package sequence

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// checkPods compares what is said of every pod that waits to be bound.
func (c *comparison) checkPods() error {
	for _, p := range c.oracle.pods {
		answer, waits := c.before.pods[p.UID]
		if !waits {
			continue
		}
		if got := c.engine.Decide(p).Held; got != answer.held {
			return fmt.Errorf("%s: held is %t, want %t", p.Name, got, answer.held)
		}
		if p.Spec.SchedulerName != oracleScheduler {
			continue // nobody asks
		}
		placement := c.engine.Placement(p)
		if placement != nil {
			if open := c.engine.Verdict(p).InVain; !open.IsZero() && answer.open.Len() > 0 {
				return fmt.Errorf("%s: to try it is in vain, and %v are open", p.Name, sets.List(answer.open))
			}
			open := placement.OpenNodes()
			got := open.Names
			if len(got) == 0 && !answer.held {
				placement.NoteRefusal(open, c.oracle.now)
			}
			if !got.IsSuperset(answer.open) || (len(placement.needs) == 1 && got.Len() > answer.open.Len()) {
				return fmt.Errorf("%s: the nodes for it are %v, want %v", p.Name, sets.List(got), sets.List(answer.open))
			}
			if isRefused := got.Len() == 0 && c.before.nodes.Len() > 0; (open.Why != "") != isRefused {
				return fmt.Errorf("%s: the nodes for it are %v, and it is told %q", p.Name, sets.List(got), open.Why)
			}
		}
		for _, node := range append(slices.Collect(maps.Keys(c.oracle.objects["Node"])), "unknown") {
			got := placement == nil || !placement.Open(node).Held
			if want := c.oracle.mayPlace(p, node); got != want {
				return fmt.Errorf("%s: may be placed on %s is %t, want %t", p.Name, node, got, want)
			}
		}
		for _, victim := range c.oracle.pods {
			if victim.Spec.NodeName == "" {
				continue
			}
			if got, want := c.engine.WaitsFor(p, victim), c.oracle.spares(p, victim); got != want {
				return fmt.Errorf("%s: must not evict %s is %t, want %t", p.Name, victim.Name, got, want)
			}
		}
	}
	return nil
}

// checkCircles compares which sequences wait for themselves.
func (c *comparison) checkCircles() error {
	for name, v := range c.oracle.views {
		circle := c.engine.Circle(types.NamespacedName{Namespace: v.Namespace, Name: name})
		if got, want := circle.Problem.Message != "", c.oracle.waitsForItself(v); got != want {
			return fmt.Errorf("%s: waits for itself is %t, want %t: %s", name, got, want, circle.Problem.Message)
		}
	}
	return nil
}

// checkReports compares how far sequences are.
func (c *comparison) checkReports() error {
	for name, v := range c.oracle.views {
		report := c.before.reports[name]
		if len(report.Groups) != len(v.Spec.PodGroups) {
			return fmt.Errorf("%s: report has %d groups, want %d", name, len(report.Groups), len(v.Spec.PodGroups))
		}
		for i, definition := range v.definitions {
			hash := report.Groups[i].Hash
			if was, ok := c.hashes[definition]; ok && was != hash {
				return fmt.Errorf("%s: two hashes for group %d: %s", name, i, definition)
			}
			if was, ok := c.oracle.definitions[hash]; ok && was != definition {
				return fmt.Errorf("%s: one hash for %s and %s", name, definition, was)
			}
			c.hashes[definition], c.oracle.definitions[hash] = hash, definition
		}
		if err := c.checkStrays(v, report); err != nil {
			return err
		}
		if v.Spec.Scope == v1alpha1.ScopeNode {
			continue
		}
		course := v.courses[""]
		if report.Current != course.current {
			return fmt.Errorf("%s: current group is %d, want %d", name, report.Current, course.current)
		}
		for i, want := range course.groups {
			got := report.Groups[i]
			if got.Passed != course.passed[i] || got.Current != (course.reached[i] && !course.passed[i]) || got.Released != course.mayStart(i) {
				return fmt.Errorf("%s: group %d is passed %t, current %t, released %t; want %t, %t, %t", name, i, got.Passed, got.Current,
					got.Released, course.passed[i], course.reached[i] && !course.passed[i], course.mayStart(i))
			}
			switch g := v.Spec.PodGroups[i]; {
			case !makesSense(g):
				want.expected = got.Expected // whatever
			case g.MinAvailable != nil:
				want.expected = want.enough // told is what the group waits for
				if g.MinAvailable.Type == intstr.Int {
					want.ready = want.sure
				}
			}
			if got.Expected != want.expected || got.Ready != want.ready || got.Satisfied != want.satisfied {
				return fmt.Errorf("%s: group %d: %d of %d ready, satisfied %t; want %d of %d, %t", name, i,
					got.Ready, got.Expected, got.Satisfied, want.ready, want.expected, want.satisfied)
			}
		}
	}
	return nil
}

// checkReleased sees that exactly those pods were released that may be scheduled, or may be scheduled to more nodes, only now.
func (c *comparison) checkReleased(changes Changes, before, after answers) error {
	released := map[types.UID]Release{}
	for _, r := range changes.Released {
		if _, twice := released[r.UID]; twice {
			return fmt.Errorf("%s is released twice", r.Name)
		}
		released[r.UID] = r
	}
	for _, p := range c.oracle.pods {
		now, waits := after.pods[p.UID]
		was, known := before.pods[p.UID]
		gained := now.open.Intersection(now.suits).Difference(was.open.Intersection(was.suits))
		r, did := released[p.UID]
		delete(released, p.UID)
		mayGo := waits && !now.held
		opened := now.open.Intersection(now.suits).Difference(was.open)
		switch {
		case was.open == nil, p.Spec.SchedulerName != oracleScheduler: // it is new, or where it goes is not ours to say
			opened = nil
		case was.anywhere: // a node that is new was open to it
			opened = opened.Intersection(before.nodes)
		}
		lifts := now.liftable && !(known && was.liftable && !was.held)
		switch {
		case did && !mayGo:
			return fmt.Errorf("%s is released and must wait", p.Name)
		case did && was.open != nil && !was.held && gained.Len() == 0 && !now.liftable && !c.mayRelease(p, now):
			return fmt.Errorf("%s is released for nothing", p.Name)
		case did && (len(r.Gates) > 0) != now.liftable:
			return fmt.Errorf("%s is released with gates %v of %v", p.Name, r.Gates, p.Spec.SchedulingGates)
		case did || !mayGo:
		case was.held:
			return fmt.Errorf("%s may go now and is not released", p.Name)
		case lifts:
			return fmt.Errorf("the gate of %s may be lifted now and it is not released", p.Name)
		case opened.Len() > 0:
			if _, pinned := c.oracle.pinnedTo(p); pinned || !c.fill(opened, changes, after) {
				return fmt.Errorf("%s may now go to %v and is not released", p.Name, opened.UnsortedList())
			}
			if _, waits := c.untried[p.UID]; !waits {
				c.untried[p.UID] = c.oracle.now
			}
		}
	}
	if err := c.checkUntried(changes, after); err != nil {
		return err
	}
	told := map[string]bool{}
	for _, key := range changes.Held {
		told[oracleName(key.Namespace, key.Name)] = true
	}
	for _, p := range c.oracle.pods {
		now, waits := after.pods[p.UID]
		was, known := before.pods[p.UID]
		switch {
		case waits && told[oracleKey(p)] && !now.held:
			return fmt.Errorf("%s is told to be held and may go", p.Name)
		case waits && now.held && !(known && was.open != nil && was.held) && !told[oracleKey(p)]:
			return fmt.Errorf("%s must wait now and it is not told", p.Name)
		}
	}
	for _, r := range released {
		return fmt.Errorf("%s is released and not there", r.Name)
	}
	return nil
}

// fill reports whether as many pods are released as there is room for on the nodes, so that the others may be tried later. One that another
// sequence holds may take the place of one that is tried.
func (c *comparison) fill(nodes sets.Set[string], changes Changes, after answers) bool {
	room := 0
	for _, p := range after.pods {
		if p.held {
			room--
		}
	}
	for name := range nodes {
		most := 110
		if pods := c.oracle.node(name).Status.Allocatable.Pods().Value(); pods > 0 {
			most = int(pods)
		}
		for _, p := range c.oracle.pods {
			if p.Spec.NodeName == name && endOf(p) != corev1.PodFailed && endOf(p) != corev1.PodSucceeded {
				most--
			}
		}
		room += max(0, most)
	}
	return len(changes.Released) >= room
}

// checkUntried sees that a pod to which a node opened is released within 5 s if it still waits and that node may still have it.
func (c *comparison) checkUntried(changes Changes, after answers) error {
	for _, r := range changes.Released {
		delete(c.untried, r.UID)
	}
	for uid, since := range c.untried {
		switch now, waits := after.pods[uid]; {
		case !waits || now.held || now.open.Len() == 0:
			delete(c.untried, uid)
		case !c.oracle.now.Before(since.Add(5 * time.Second)):
			return fmt.Errorf("%s may go to %v since %s and was not released", uid, now.open.UnsortedList(), since)
		}
	}
	return nil
}

// mayRelease allows for pods that are named as released once too often: when a sequence is edited all its pods are
// looked at anew, when a node changes those that may be scheduled there, and a pod that changes where it could run.
func (c *comparison) mayRelease(pod *corev1.Pod, p podAnswer) bool {
	if c.oracle.mayBreak(pod) {
		return true // what it waited for was confirmed anew
	}
	was := c.previous[pod.UID]
	if was != nil && (!reflect.DeepEqual(was.Labels, pod.Labels) || !reflect.DeepEqual(was.Spec, pod.Spec) || saysOnTheSide(was) != saysOnTheSide(pod)) {
		return true
	}
	if c.last.verb == verbTick { // which ends annotations that override a spec
		for _, v := range c.oracle.views {
			if end, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.OverrideUntilAnnotation]); err == nil && !end.After(c.oracle.now) {
				return true
			}
		}
	}
	switch c.last.kind {
	case "Job": // which may have become a hook, or none
		ref := metav1.GetControllerOf(pod)
		return ref != nil && ref.Kind == "Job"
	case "PodSequence", "ClusterPodSequence", "Namespace":
		return true
	case "Node":
		return c.last.verb == verbReplace || (c.last.verb == verbApply && p.open.Has(c.last.object.GetName()))
	}
	return false
}

// checkSequences sees that every sequence whose report changed is told.
func (c *comparison) checkSequences(changes Changes, before, after answers) error {
	for name := range sets.KeySet(before.reports).Union(sets.KeySet(after.reports)) {
		was, now := before.reports[name], after.reports[name]
		was.Object, now.Object, was.Cluster, now.Cluster, was.DryRun, now.DryRun = nil, nil, nil, nil, nil, nil
		told := changes.Sequences.Has(types.NamespacedName{Namespace: oracleNamespace, Name: name}) ||
			changes.Sequences.Has(types.NamespacedName{Namespace: "operations", Name: name}) ||
			changes.Sequences.Has(types.NamespacedName{Name: name})
		if !told && !reflect.DeepEqual(was, now) {
			return fmt.Errorf("%s: its report changed and it is not told of: %s", name, cmp.Diff(was, now))
		}
	}
	return nil
}

// checkWake sees that Tick changes something exactly when NextWake says so.
func (c *comparison) checkWake(e event, changes Changes, before, after answers) error {
	now := c.oracle.now
	if !after.wake.IsZero() && !after.wake.After(now) {
		return fmt.Errorf("next wake %s is not after now", after.wake)
	}
	if e.verb != verbTick {
		return nil
	}
	if due := !before.wake.IsZero() && !now.Before(before.wake); due {
		return nil // that wake moved on was seen above
	}
	if len(changes.Released) > 0 || changes.Sequences.Len() > 0 || !after.wake.Equal(before.wake) {
		return fmt.Errorf("a tick before the next wake %s changed %+v, wake %s", before.wake, changes, after.wake)
	}
	if !reflect.DeepEqual(before.current, after.current) {
		return fmt.Errorf("the next wake %s is too late: %v became %v", before.wake, before.current, after.current)
	}
	for uid, was := range before.pods {
		if was.held != after.pods[uid].held {
			return fmt.Errorf("the next wake %s is too late for %s", before.wake, uid)
		}
	}
	return nil
}
