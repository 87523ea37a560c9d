package lint

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// linter looks at the sequences of a snapshot together with everything that makes pods.
type linter struct {
	*snapshot.Snapshot
	templates []*template
	findings  Findings
	// sources maps the names of objects to the files they come from.
	sources map[string]string
	// offline reports that nothing is known but what the files have.
	offline bool
	// namespace is the one whose PodSequences are all known, if not offline.
	namespace string
	// kubernetes is the version of the cluster; nil if it is not known.
	kubernetes *version.Version
	// saidUngoverned are the sequences for which a workload was reported that nothing can hold.
	saidUngoverned map[types.NamespacedName]bool
	// priorities are those that PriorityClasses give, by name; that of pods without one has no name.
	priorities map[string]int32
}

// Options say what is known beside the snapshot.
type Options struct {
	// Sources maps each object, by what Name returns, to its file.
	Sources map[string]string
	// Offline reports that nothing is known of the cluster: only files were read.
	Offline bool
	// Namespace is the one of which the snapshot has all PodSequences. Of files it has all anyway.
	Namespace string
	// Kubernetes is the version of the cluster, without the patch; nil if it is not known.
	Kubernetes *version.Version
	// Only restricts the findings to one sequence, by its name in messages; empty for all.
	Only string
}

// World returns what is to be said about sequences together with the workloads that they order.
func World(s *snapshot.Snapshot, options Options) Findings {
	l := &linter{
		Snapshot: s, sources: options.Sources, offline: options.Offline, namespace: options.Namespace, kubernetes: options.Kubernetes,
		saidUngoverned: map[types.NamespacedName]bool{},
	}
	l.templates = templates(s, l.route)
	l.readPriorities()
	for _, each := range s.Sequences {
		if why, judged := s.Judged(each); !judged {
			l.add(each, Note, "NotChecked", "%s, so it is checked by its own rules only", why)
		}
		l.formerFinalizer(each)
		l.spec(each)
		l.problems(each)
		l.startedOutOfOrder(each)
		l.continuous(each)
		for i := range each.Spec.PodGroups {
			l.system(each, i)
			l.group(each, i)
			l.staticPods(each, i)
			l.awaited(each, i)
		}
	}
	for _, t := range l.templates {
		l.template(t)
	}
	for _, q := range s.Quotas {
		l.quota(q)
	}
	l.ungovernedPods()
	l.circles()
	findings := l.findings
	if options.Only != "" {
		findings = slices.DeleteFunc(findings, func(f Finding) bool {
			return f.Object != options.Only && !strings.Contains(f.Message, options.Only)
		})
	}
	return findings
}

func (l *linter) add(s *snapshot.Sequence, severity Severity, rule, format string, args ...any) {
	l.findings.add(l.sources[s.String()], s.String(), severity, rule, format, args...)
}

func (l *linter) addTo(t *template, severity Severity, rule, format string, args ...any) {
	l.findings.add(l.sources[t.String()], t.String(), severity, rule, format, args...)
}

// formerFinalizer reports the finalizer that the controller left whose API this was. podsequence-controller removes it where it runs.
func (l *linter) formerFinalizer(s *snapshot.Sequence) {
	if s.IsCluster() || !slices.Contains(s.Object.GetFinalizers(), v1alpha1.FormerFinalizer) {
		return
	}
	if l.offline {
		l.add(s, Note, "FormerFinalizer", "metadata.finalizers has %s of the Pod Sequence Controller: remove it from the file; "+
			"podsequence-controller removes it from the object, and without that nobody can delete the object", v1alpha1.FormerFinalizer)
		return
	}
	l.add(s, Warning, "FormerFinalizer", "it has the finalizer %s of the Pod Sequence Controller, and cannot be deleted: "+
		"stop that program, and podsequence-controller removes the finalizer; or remove it with: %s",
		v1alpha1.FormerFinalizer, s.RemoveFormerFinalizer())
}

// isObject reports whether a group of another sequence waits for this one.
func (l *linter) isObject(s *snapshot.Sequence) bool {
	for _, other := range l.Sequences {
		for _, g := range other.Spec.PodGroups {
			for _, object := range g.Objects {
				kind := v1alpha1.PodSequenceKind.Kind
				if s.IsCluster() {
					kind = v1alpha1.ClusterPodSequenceKind.Kind
				}
				namespace := object.Namespace
				if namespace == "" && !other.IsCluster() && !s.IsCluster() {
					namespace = other.Key().Namespace
				}
				if object.Kind == kind && object.Name == s.Key().Name && namespace == s.Key().Namespace {
					return true
				}
			}
		}
	}
	return false
}

// everyNode looks at groups that wait for conditions on every node of the cluster, though most conditions are set on some nodes only.
func (l *linter) everyNode(s *snapshot.Sequence, i int) {
	g := s.Spec.PodGroups[i]
	if !s.PerNode() || len(g.Pods) > 0 || g.PodSelector != nil || len(g.NodeSelector) > 0 {
		return
	}
	for _, r := range g.NodeConditions {
		if r.WhenAbsent != v1alpha1.AbsentPass {
			l.add(s, Note, "EveryNode", "%s waits for condition %s on every node, also where nothing sets it: pods of later groups never start there; "+
				"add a nodeSelector, or set whenAbsent to Pass", s.Where(i), r.Type)
			return
		}
	}
}

// spec looks at what the spec says by itself.
func (l *linter) spec(s *snapshot.Sequence) {
	groups := s.Spec.PodGroups
	if len(groups) == 1 && !l.isObject(s) {
		l.add(s, Note, "Useless", "one group alone orders nothing: add groups that wait for it, or groups that it waits for")
	}
	if s.Spec.Suspend {
		l.add(s, Note, "Suspended", "spec.suspend is true: no pods are released; set it to false to release them")
	}
	for i, g := range groups {
		awaited := l.isAwaited(s, i)
		if !awaited && len(groups) > 1 && (g.WaitDuration != "" && g.WaitDuration != "0s") {
			l.add(s, Note, "Useless", "%s has a waitDuration, and no group waits for it: remove it", s.Where(i))
		}
		if !awaited && len(groups) > 1 && g.OnTimeout == v1alpha1.TimeoutContinue {
			l.add(s, Note, "Useless", "%s has onTimeout: Continue, and no group waits for it: remove it", s.Where(i))
		}
		if awaited && g.MinAvailable != nil && (g.MinAvailable.String() == "0" || g.MinAvailable.String() == "0%") {
			l.add(s, Warning, "Useless", "%s has minAvailable %s, so no group ever waits for it: set a higher value, or remove minAvailable", s.Where(i), g.MinAvailable.String())
		}
		l.everyNode(s, i)
		if g.Skip {
			l.add(s, Note, "Skipped", "%s has skip: no group waits for it", s.Where(i))
		}
	}
	l.similarNames(s)
}

// isAwaited reports whether some group waits for this one.
func (l *linter) isAwaited(s *snapshot.Sequence, i int) bool {
	if _, judged := l.Judged(s); !judged {
		return true // it is not known
	}
	for j := i + 1; j < len(s.Spec.PodGroups); j++ {
		if slices.Contains(l.Predecessors(s, j), i) {
			return true
		}
	}
	return false
}

// problems are those that the engine reports. What it says of pods and namespaces rests on the cluster.
func (l *linter) problems(s *snapshot.Sequence) {
	report, ok := l.Report(s)
	if !ok {
		return
	}
	for _, problem := range report.Problems {
		if l.offline && problem.Reason == v1alpha1.ReasonNamespaceNotAllowed {
			continue // the files do not say
		}
		if problem.Reason == v1alpha1.ReasonInvalidSpec || problem.Reason == v1alpha1.ReasonUngovernedPods {
			continue // said of the field, or of the workload
		}
		if problem.Reason == v1alpha1.ReasonStartedOutOfOrder {
			continue // said as the controller found it, see startedOutOfOrder
		}
		l.add(s, Warning, problem.Reason, "%s", problem.Message)
	}
}

// isRefused reports whether the namespace of the pods does not allow the sequence, so that it has no members whatever it selects.
func (l *linter) isRefused(s *snapshot.Sequence) bool {
	report, _ := l.Report(s)
	return slices.ContainsFunc(report.Problems, func(problem order.Problem) bool {
		return problem.Reason == v1alpha1.ReasonNamespaceNotAllowed
	})
}

// startedOutOfOrder repeats what only the controller saw: that pods were bound before the sequence existed.
func (l *linter) startedOutOfOrder(s *snapshot.Sequence) {
	degraded := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionDegraded)
	if degraded != nil && degraded.Status == metav1.ConditionTrue && degraded.Reason == v1alpha1.ReasonStartedOutOfOrder {
		l.add(s, Warning, degraded.Reason, "%s", degraded.Message)
	}
}

// group looks at the members of a group.
func (l *linter) group(s *snapshot.Sequence, i int) {
	if _, judged := l.Judged(s); !judged || l.isRefused(s) {
		return
	}
	g := s.Spec.PodGroups[i]
	members, selected := l.membersOf(s, i)
	earlier, isRest := l.shadowing(s, i, members, selected)
	switch {
	case isRest && isOrdinalOf(s, selected): // such as pod 0 first, then the rest, of which there is none now
	case earlier != "":
		l.add(s, Warning, "Shadowed", "%s selects %s, which %s has already: list the narrower group first", s.Where(i), selected[0], earlier)
	case len(members) == 0 && l.ownIn(s, i) != nil && g.ExpectedPods == 0:
		l.add(s, Warning, "MatchesNothing", "%s selects nothing but pods of PodSequence itself, such as those of %s, which belong to no sequence: "+
			"groups that wait for it wait until it has others; remove the group, or correct podSelector", s.Where(i), l.ownIn(s, i))
	case l.offline && g.NamespaceSelector != nil: // the files need not have the namespaces
	case (isRest || isEmpty(g.PodSelector)) && len(s.Spec.PodGroups) > 1 && !l.isAwaited(s, i): // what it is for is not there yet
	case g.PodSelector != nil && len(members) == 0 && g.ExpectedPods == 0 && len(l.templates) > 0:
		where, fields := l.amongFiles(), "podSelector"
		if len(g.Namespaces) > 0 {
			where, fields = where+" in "+strings.Join(g.Namespaces, ", "), "namespaces, podSelector"
		}
		l.add(s, Warning, "MatchesNothing", "%s selects no workload and no pod%s: correct %s or the labels of the pod template, "+
			"or set expectedPods if the owner of its pods is of a kind that PodSequence does not know", s.Where(i), where, fields)
	case len(g.Pods) > 0:
		l.names(s, i)
	}
	for _, t := range members {
		l.member(s, i, t)
	}
	l.minAvailable(s, i, members)
	l.unprobed(s, i, members)
}

// shadowing names the earlier group that has all that a group selects; empty if there is none. It reports isRest instead if the group
// may have members that the earlier group can never have: then it is for the rest, and there is no rest now.
func (l *linter) shadowing(s *snapshot.Sequence, i int, members, selected []*template) (earlier string, isRest bool) {
	if s.Spec.PodGroups[i].PodSelector == nil || len(members) > 0 || len(selected) == 0 {
		return "", false
	}
	group, ok := placeIn(selected[0].places, s)
	switch {
	case !ok:
		return "an earlier group", false
	case hasMoreThan(s, i, group) || isOrdinalOf(s, selected):
		return "", true
	}
	return s.Where(group), false
}

// isOrdinalOf reports whether an earlier group names the pods of what is selected: when that has more pods, they are not there.
func isOrdinalOf(s *snapshot.Sequence, selected []*template) bool {
	if len(selected) == 0 || selected[0].kind != inventory.KindStatefulSet {
		return false
	}
	group, ok := placeIn(selected[0].places, s)
	return ok && len(s.Spec.PodGroups[group].Pods) > 0
}

func (l *linter) amongFiles() string {
	if l.offline {
		return " of the files"
	}
	return ""
}

// membersOf returns what makes members of a group, and what its selector selects.
func (l *linter) membersOf(s *snapshot.Sequence, i int) (members, selected []*template) {
	selector, err := order.Selector(s.Spec.PodGroups[i].PodSelector)
	bySelector := err == nil && s.Spec.PodGroups[i].PodSelector != nil
	for _, t := range l.templates {
		if len(t.pods) > 0 && l.Config.IsOwn(t.pods[0]) {
			continue // it belongs to no sequence
		}
		isMember := func(p sequence.Place) bool { return p.Sequence == s.Key() && p.Group == i }
		isSelected := func(pod *corev1.Pod) bool { return selector.Matches(labels.Set(pod.Labels)) }
		switch {
		case slices.ContainsFunc(t.places, func(places []sequence.Place) bool { return slices.ContainsFunc(places, isMember) }):
			members = append(members, t)
		case bySelector && l.mayHave(s, i, t.object.GetNamespace()) && slices.ContainsFunc(t.pods, isSelected) && !t.isUnordered():
			selected = append(selected, t)
		}
	}
	return members, selected
}

// mayHave reports whether a group may have members in a namespace.
func (l *linter) mayHave(s *snapshot.Sequence, i int, namespace string) bool {
	if !s.IsCluster() {
		return namespace == s.Target
	}
	if selector := l.namespaceSelector(s, i); selector != nil {
		return l.Config.IsSelectable(namespace) && selector.Matches(l.namespaceLabels(namespace))
	}
	return slices.Contains(s.Spec.PodGroups[i].Namespaces, namespace)
}

// placeIn returns the group that a sequence has for the first of several pods.
func placeIn(all [][]sequence.Place, s *snapshot.Sequence) (int, bool) {
	for _, places := range all {
		for _, place := range places {
			if place.Sequence == s.Key() {
				return place.Group, true
			}
		}
	}
	return 0, false
}

// member looks at one workload of a group.
func (l *linter) member(s *snapshot.Sequence, i int, t *template) {
	g := s.Spec.PodGroups[i]
	if !l.isAwaited(s, i) && len(s.Spec.PodGroups) > 1 {
		return
	}
	switch {
	case g.RequiredStatus == v1alpha1.RequireComplete && t.kind != inventory.KindJob && t.kind != inventory.KindPod:
		l.add(s, Error, "Impossible", "%s requires status Complete, and the pods of %s never complete: set requiredStatus: Ready", s.Where(i), t)
	case t.kind == inventory.KindJob && (g.RequiredStatus == "" || g.RequiredStatus == v1alpha1.RequireReady) && g.RequiredCondition == "":
		l.add(s, Note, "JobNotAwaited", "later groups start when the pods of %[2]s are ready, not when it is complete: set requiredStatus: Complete in %[1]s if they need its result", s.Where(i), t)
	}
}

// minAvailable looks at whether so many members can be there at all.
func (l *linter) minAvailable(s *snapshot.Sequence, i int, members []*template) {
	g := s.Spec.PodGroups[i]
	if g.MinAvailable == nil || g.MinAvailable.StrVal != "" || s.PerNode() || g.ExpectedPods > 0 || len(members) == 0 {
		return
	}
	expected := 0
	for _, part := range l.Parts(s, i) {
		expected += part.Expected
	}
	for _, t := range members {
		if t.kind == inventory.KindPod {
			expected++
		}
		if t.kind == inventory.KindDaemonSet && l.offline {
			return // it has as many pods as there are nodes
		}
	}
	if want := g.MinAvailable.IntValue(); want > expected {
		l.add(s, Error, "Impossible", "%s has minAvailable: %d, but its workloads create %d pods: later groups wait permanently; lower minAvailable, or scale up",
			s.Where(i), want, expected)
	}
}

// parse returns a duration; 0 if it cannot be read.
func parse(d v1alpha1.Duration) time.Duration {
	parsed, err := d.Parse()
	if err != nil {
		return 0
	}
	return parsed
}
