package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/tools/podseqctl/snapshot"
)

// template looks at one workload, or at one pod, in all its sequences.
func (l *linter) template(t *template) {
	if len(t.pods) == 0 {
		return
	}
	if t.isUnordered() {
		return // nothing holds it, unless a group names it
	}
	l.ungoverned(t)
	l.early(t)
	l.label(t)
	l.outranks(t)
	l.hook(t)
	l.notSelected(t)
	if len(t.places[0]) > 1 {
		var in []string
		for _, place := range t.places[0] {
			s := l.Snapshot.Sequence(place.Sequence)
			in = append(in, fmt.Sprintf("%s of %s", s.Where(place.Group), s))
		}
		l.addTo(t, Note, "Overlap", "its pods are in %s: they start when all of these release them", strings.Join(in, " and "))
	}
	switch o := t.object.(type) {
	case *appsv1.Deployment:
		l.progressDeadline(t, o)
	case *appsv1.StatefulSet:
		l.split(t, o)
	case *batchv1.Job:
		l.activeDeadline(t, o)
	}
}

// defaultProgressDeadline is what Kubernetes takes for Deployments that do not say.
const defaultProgressDeadline = 600 * time.Second

// progressDeadline looks at whether a Deployment may have to wait for longer than it allows itself.
func (l *linter) progressDeadline(t *template, d *appsv1.Deployment) {
	deadline := defaultProgressDeadline
	if d.Spec.ProgressDeadlineSeconds != nil {
		deadline = time.Duration(*d.Spec.ProgressDeadlineSeconds) * time.Second
	}
	if deadline >= 1<<31*time.Second-time.Second {
		return // none
	}
	for _, place := range t.places[0] {
		s := l.Snapshot.Sequence(place.Sequence)
		least, most, bounded := l.wait(s, place.Group)
		switch where := fmt.Sprintf("%s of %s", s.Where(place.Group), s); {
		case len(l.Predecessors(s, place.Group)) == 0 || s.PerNode():
		case least > deadline:
			l.addTo(t, Warning, "ProgressDeadline", "its pods wait for at least %s in %s, longer than its progressDeadlineSeconds of %d: it will report ProgressDeadlineExceeded; "+
				"set progressDeadlineSeconds to more than %d", least, where, int(deadline.Seconds()), int(least.Seconds()))
		case bounded && most > deadline:
			l.addTo(t, Warning, "ProgressDeadline", "its pods may wait for %s in %s, longer than its progressDeadlineSeconds of %d: it may report ProgressDeadlineExceeded; "+
				"set progressDeadlineSeconds to more than %d", most, where, int(deadline.Seconds()), int(most.Seconds()))
		case !bounded:
			l.addTo(t, Note, "ProgressDeadline", "it will report ProgressDeadlineExceeded if the groups before %s take longer than %s: "+
				"raise progressDeadlineSeconds, or set timeout in these groups, if a tool watches the rollout", where, deadline)
		}
	}
}

// activeDeadline looks at whether a Job may fail because its pods wait: its controller counts activeDeadlineSeconds from when it
// creates the first pod, and not from when one runs.
func (l *linter) activeDeadline(t *template, job *batchv1.Job) {
	if job.Spec.ActiveDeadlineSeconds == nil || ptr.Deref(job.Spec.Suspend, false) {
		return
	}
	deadline := time.Duration(*job.Spec.ActiveDeadlineSeconds) * time.Second
	for _, place := range t.places[0] {
		s := l.Snapshot.Sequence(place.Sequence)
		if len(l.Predecessors(s, place.Group)) == 0 || !place.Governed || s.Spec.DryRun {
			continue
		}
		least, most, bounded := l.wait(s, place.Group)
		how := "may wait for longer in"
		switch {
		case s.PerNode():
		case least >= deadline:
			how = fmt.Sprintf("wait for at least %s in", least)
		case bounded && most < deadline:
			continue
		}
		l.addTo(t, Warning, "ActiveDeadline", "its activeDeadlineSeconds of %d count while its pods are held, and these %s %s of %s: "+
			"the Job then fails without having run; set activeDeadlineSeconds in its pod template instead, where it counts from when a pod starts",
			int(deadline.Seconds()), how, s.Where(place.Group), s)
	}
}

// wait returns how long members of a group wait at least and at most, as far as the spec says: along the slowest chain of
// predecessors. It is not bounded if one of these has no timeout.
func (l *linter) wait(s *snapshot.Sequence, group int) (least, most time.Duration, bounded bool) {
	predecessors := l.Predecessors(s, group)
	leastTo, mostTo := map[int]time.Duration{}, map[int]time.Duration{}
	bounded = true
	for _, i := range predecessors {
		g := s.Spec.PodGroups[i]
		if g.Skip {
			continue
		}
		bounded = bounded && g.Timeout != ""
		for _, before := range l.Predecessors(s, i) {
			leastTo[i], mostTo[i] = max(leastTo[i], leastTo[before]), max(mostTo[i], mostTo[before])
		}
		leastTo[i] += parse(g.WaitDuration)
		mostTo[i] += parse(g.Timeout) + parse(g.WaitDuration)
		least, most = max(least, leastTo[i]), max(most, mostTo[i])
	}
	return least, most, bounded
}

// split looks at a StatefulSet whose members are in several groups of one sequence.
func (l *linter) split(t *template, set *appsv1.StatefulSet) {
	ordered := set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	for _, s := range l.Sequences {
		var groups []int
		for n := range t.pods {
			group, ok := placeIn(t.places[n:n+1], s)
			if !ok {
				continue
			}
			if ordered && len(groups) > 0 && slices.Contains(l.Predecessors(s, slices.Max(groups)), group) {
				l.addTo(t, Error, "Impossible", "pod %s is in %s of %s, before a pod with a lower number, which the StatefulSet creates first: both wait permanently; "+
					"set podManagementPolicy: Parallel, or list the groups in the order of the numbers", t.pods[n].Name, s.Where(group), s)
				return
			}
			if !slices.Contains(groups, group) {
				groups = append(groups, group)
			}
		}
		if len(groups) > 1 {
			var where []string
			for _, group := range groups {
				where = append(where, s.Where(group))
			}
			l.addTo(t, Note, "SplitStatefulSet", "its %d pods are in %s of %s: a rolling update replaces them in its own order, unless enforcementMode is Continuous",
				ptr.Deref(set.Spec.Replicas, 1), strings.Join(where, " and "), s)
		}
	}
}

// circles finds workloads that wait for each other, by two sequences or more.
func (l *linter) circles() {
	before := map[*template]map[*template]string{} // what a template waits for, and by which sequence
	for _, later := range l.templates {
		for _, earlier := range l.templates {
			if s := l.waits(later, earlier); s != nil {
				if before[later] == nil {
					before[later] = map[*template]string{}
				}
				before[later][earlier] = s.String()
			}
		}
	}
	l.gangWaits(before)
	for _, t := range l.templates {
		if why := before[t][t]; why != "" {
			l.gangOfOne(t, why)
			delete(before[t], t)
		}
	}
	said := map[*template]bool{}
	for _, start := range l.templates {
		path := circleFrom(start, before)
		if len(path) == 0 || slices.ContainsFunc(path, func(t *template) bool { return said[t] }) {
			continue
		}
		var steps []string
		for i, t := range path {
			said[t] = true
			next := path[(i+1)%len(path)]
			steps = append(steps, fmt.Sprintf("%s waits for %s (%s)", t, next, before[t][next]))
		}
		l.addTo(start, Error, "Impossible", "%s: %s; change the order of one of the sequences", strings.Join(steps, ", "), neverStart)
	}
}

// waits returns a sequence in which a workload waits for another; nil if there is none.
func (l *linter) waits(later, earlier *template) *snapshot.Sequence {
	if later == earlier || len(later.places) == 0 || len(earlier.places) == 0 {
		return nil
	}
	for _, a := range later.places[0] {
		for _, b := range earlier.places[0] {
			s := l.Snapshot.Sequence(a.Sequence)
			if a.Sequence == b.Sequence && slices.Contains(l.Predecessors(s, a.Group), b.Group) && a.Governed && !s.Spec.PodGroups[b.Group].Skip {
				return s
			}
		}
	}
	return nil
}

// circleFrom returns the shortest way from a template back to itself; empty if there is none.
func circleFrom(start *template, before map[*template]map[*template]string) []*template {
	cameFrom := map[*template]*template{}
	queue := []*template{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, next := range sorted(before[at]) {
			if next == start {
				path := []*template{at}
				for at != start {
					at = cameFrom[at]
					path = append([]*template{at}, path...)
				}
				return path
			}
			if _, seen := cameFrom[next]; !seen {
				cameFrom[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}

func sorted(set map[*template]string) []*template {
	var all []*template
	for t := range set {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *template) int { return strings.Compare(a.String(), b.String()) })
	return all
}
