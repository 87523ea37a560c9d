package lint

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// How pods come to be ordered: by the label, by their scheduler, by a gate or by their namespace, and whether that works from the
// moment when they are created.

// optInLabel is on a namespace whose pods of the default scheduler a policy gives to podsequence-scheduler.
const optInLabel, optedIn = "podsequence.example.com/scheduling", "enabled"

// MutatingPolicies is the first version of Kubernetes where the policies of the installation can change pods.
var MutatingPolicies = version.MustParseGeneric("1.36")

// Route gives a new pod what the policies of the installation give it: our scheduler, or in lite mode, which has none, the gate. labels
// are those of its namespace.
func Route(pod *corev1.Pod, labels map[string]string, config *sequence.Config) {
	labelled := pod.Labels[v1alpha1.SequenceLabel] != ""
	isDefault := pod.Spec.SchedulerName == "" || pod.Spec.SchedulerName == corev1.DefaultSchedulerName
	switch {
	case pod.Spec.NodeName != "" || pod.Namespace == config.InstallationNamespace || isOurs(pod, config):
	case len(config.SchedulerNames) == 0 && labelled && !hasGate(pod, config):
		gate := corev1.PodSchedulingGate{Name: v1alpha1.DefaultSchedulingGateName}
		pod.Spec.SchedulingGates = append(slices.Clip(pod.Spec.SchedulingGates), gate)
	case len(config.SchedulerNames) > 0 && isDefault && (labelled || hasGate(pod, config) || labels[optInLabel] == optedIn):
		pod.Spec.SchedulerName = config.SchedulerNames[0]
	}
}

// route gives the pod of a template the scheduler that it will have. Before Kubernetes 1.36 no policy does that.
func (l *linter) route(pod *corev1.Pod) {
	if !l.isBeforePolicies() {
		Route(pod, l.labelsOf(pod.Namespace), &l.Config)
	}
}

// isBeforePolicies reports whether the cluster is known to have no policies that change pods.
func (l *linter) isBeforePolicies() bool {
	return l.kubernetes != nil && l.kubernetes.LessThan(MutatingPolicies)
}

// labelsOf returns the labels of a namespace, as far as they are known.
func (l *linter) labelsOf(namespace string) map[string]string {
	i := slices.IndexFunc(l.Namespaces, func(each *corev1.Namespace) bool { return each.Name == namespace })
	if i < 0 {
		return nil
	}
	return l.Namespaces[i].Labels
}

func isOurs(pod *corev1.Pod, config *sequence.Config) bool {
	return slices.Contains(config.SchedulerNames, pod.Spec.SchedulerName)
}

// hasGate reports whether a pod carries a gate that a sequence may lift.
func hasGate(pod *corev1.Pod, config *sequence.Config) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(gate corev1.PodSchedulingGate) bool {
		return slices.ContainsFunc(config.GatePrefixes, func(prefix string) bool { return strings.HasPrefix(gate.Name, prefix) })
	})
}

// waiting returns the groups in which pods of a template wait for others: the first one of each sequence, sorted by sequence.
func (l *linter) waiting(t *template) []sequence.Place {
	var places []sequence.Place
	for _, place := range slices.Concat(t.places...) {
		isOfSame := func(other sequence.Place) bool { return other.Sequence == place.Sequence }
		if len(l.Predecessors(l.Snapshot.Sequence(place.Sequence), place.Group)) > 0 && !slices.ContainsFunc(places, isOfSame) {
			places = append(places, place)
		}
	}
	slices.SortFunc(places, func(a, b sequence.Place) int { return strings.Compare(a.Sequence.String(), b.Sequence.String()) })
	return places
}

// ungoverned looks at whether anything can hold the pods of a template.
func (l *linter) ungoverned(t *template) {
	pod := t.pods[0]
	labelled := pod.Labels[v1alpha1.SequenceLabel] != ""
	for _, place := range l.waiting(t) {
		if place.Governed || labelled && hasGate(pod, &l.Config) || pod.Spec.NodeName != "" {
			continue
		}
		l.saidUngoverned[place.Sequence] = true
		s, gate := l.Snapshot.Sequence(place.Sequence), ""
		if !s.PerNode() {
			gate = s.Gate()
		}
		why, fix := l.howToHold(t, gate)
		l.addTo(t, Warning, v1alpha1.ReasonUngovernedPods, "its pods are in %s of %s, but start at once, because %s: %s",
			s.Where(place.Group), s, why, fix)
	}
}

// ungovernedPods repeats what the engine says of pods that nothing can hold, if that was said of no workload: they may be older than
// what their template or their namespace says now, or the policies are not installed.
func (l *linter) ungovernedPods() {
	for _, s := range l.Sequences {
		if report, ok := l.Report(s); ok && !l.saidUngoverned[s.Key()] {
			for _, problem := range report.Problems {
				if problem.Reason == v1alpha1.ReasonUngovernedPods {
					l.add(s, Warning, problem.Reason, "%s", problem.Message)
				}
			}
		}
	}
}

// howToHold says why nothing holds the pods of a template, and what would. gate is empty if no gate would.
func (l *linter) howToHold(t *template, gate string) (why, fix string) {
	pod := t.pods[0]
	waiting := l.waiting(t)
	named := l.namedByLabel(t, waiting)
	labelled := pod.Labels[v1alpha1.SequenceLabel] != ""
	why, inNamespace := "nothing can hold them", false
	switch isDefault := pod.Spec.SchedulerName == corev1.DefaultSchedulerName || len(l.Config.SchedulerNames) == 0; {
	case !isDefault && labelled:
		why = fmt.Sprintf("the label %s holds pods of scheduler %s only in lite mode", v1alpha1.SequenceLabel, pod.Spec.SchedulerName)
	case !isDefault:
		why = fmt.Sprintf("PodSequence does not hold pods of scheduler %s", pod.Spec.SchedulerName)
	case labelled && pod.Namespace == l.Config.InstallationNamespace:
		why = fmt.Sprintf("the label %s alone holds nothing in namespace %s, where PodSequence is installed",
			v1alpha1.SequenceLabel, pod.Namespace)
	case labelled && l.isBeforePolicies():
		why = fmt.Sprintf("the label %s alone holds nothing before Kubernetes %s, and this cluster has %s",
			v1alpha1.SequenceLabel, MutatingPolicies, l.kubernetes)
	case labelled:
		why = fmt.Sprintf("no policy acted on the label %s when they were created", v1alpha1.SequenceLabel)
	case named != nil:
		return why, l.addLabel(t, named)
	default:
		inNamespace = l.offline && len(waiting) > 0 && !l.requiresSequence(pod.Namespace) && !l.isOfSystem(pod.Namespace)
	}
	var fixes []string
	if len(l.Config.SchedulerNames) > 0 {
		fixes = append(fixes, fmt.Sprintf("set schedulerName: %s in %s", strings.Join(l.Config.SchedulerNames, " or "), t.path("spec")))
		if inNamespace {
			fixes[0] += " and " + annotate(pod.Namespace)
		}
	}
	if gate != "" {
		fixes = append(fixes, addGate(t, gate))
	}
	return why, strings.Join(fixes, ", or ")
}

func addGate(t *template, gate string) string {
	return fmt.Sprintf("add the scheduling gate %s to %s", gate, t.path("spec.schedulingGates"))
}

// isOfSystem reports whether a namespace is that of the cluster itself, or of PodSequence.
func (l *linter) isOfSystem(namespace string) bool {
	return slices.Contains(l.systemNamespaces(), namespace)
}

// namedByLabel returns the first sequence for which the pods of a template wait and which the label on them can name: a PodSequence
// of their namespace. It is nil if there is none.
func (l *linter) namedByLabel(t *template, waiting []sequence.Place) *snapshot.Sequence {
	for _, place := range waiting {
		if place.Sequence.Namespace == t.object.GetNamespace() && len(validation.IsValidLabelValue(place.Sequence.Name)) == 0 {
			return l.Snapshot.Sequence(place.Sequence)
		}
	}
	return nil
}

// addLabel says how to add the label that names a sequence to the pods of a template.
func (l *linter) addLabel(t *template, s *snapshot.Sequence) string {
	fix := fmt.Sprintf("add the label %s: %s to %s", v1alpha1.SequenceLabel, s.Key().Name, t.path("metadata.labels"))
	if isOurs(t.pods[0], &l.Config) {
		return fix
	}
	instead := addGate(t, s.Gate())
	if len(l.Config.SchedulerNames) > 0 {
		instead = fmt.Sprintf("set schedulerName: %s in %s", l.Config.SchedulerNames[0], t.path("spec"))
	}
	switch {
	case t.object.GetNamespace() == l.Config.InstallationNamespace || l.isBeforePolicies():
		return fix + ", and " + instead
	case l.kubernetes == nil:
		return fmt.Sprintf("%s; before Kubernetes %s, also %s", fix, MutatingPolicies, instead)
	}
	return fix
}

func annotate(namespace string) string {
	return fmt.Sprintf("add the annotation %s: %q to Namespace %s", v1alpha1.RequireSequenceAnnotation, v1alpha1.RequireSequence, namespace)
}

// requiresSequence reports whether a namespace holds pods until a sequence selects them.
func (l *linter) requiresSequence(namespace string) bool {
	return slices.ContainsFunc(l.Namespaces, func(each *corev1.Namespace) bool {
		return each.Name == namespace && each.Annotations[v1alpha1.RequireSequenceAnnotation] == v1alpha1.RequireSequence
	})
}

// early warns of pods that may be bound before the sequence exists that would hold them: most tools create custom resources last.
func (l *linter) early(t *template) {
	pod := t.pods[0]
	labelled := pod.Labels[v1alpha1.SequenceLabel] != ""
	_, beside := t.object.GetLabels()[v1alpha1.SequenceLabel] // label says where it belongs
	if !l.offline || labelled || beside || pod.Spec.NodeName != "" || hasGate(pod, &l.Config) || l.requiresSequence(pod.Namespace) {
		return
	}
	places := slices.DeleteFunc(l.waiting(t), func(place sequence.Place) bool {
		return !place.Governed || l.Snapshot.Sequence(place.Sequence).Spec.DryRun
	})
	if len(places) == 0 {
		return
	}
	place, fix := places[0], annotate(pod.Namespace)
	if named := l.namedByLabel(t, places); named != nil {
		place = places[slices.IndexFunc(places, func(p sequence.Place) bool { return p.Sequence == named.Key() })]
		fix = l.addLabel(t, named)
	}
	s := l.Snapshot.Sequence(place.Sequence)
	if place.Sequence.Namespace == "" && l.isOfSystem(pod.Namespace) {
		fix = addGate(t, s.Gate())
	}
	l.addTo(t, Warning, "MayStartOutOfOrder", "its pods are in %s of %s, but may be bound before that sequence exists: "+
		"kubectl apply -k, Helm and Argo CD create custom resources last; %s", s.Where(place.Group), s, fix)
}

// label looks at the label that names a PodSequence.
func (l *linter) label(t *template) {
	const rule = "SequenceLabel"
	pod, namespace := t.pods[0], t.object.GetNamespace()
	value, labelled := pod.Labels[v1alpha1.SequenceLabel]
	if !labelled {
		if beside, ok := t.object.GetLabels()[v1alpha1.SequenceLabel]; ok {
			l.addTo(t, Warning, rule, "the label %s: %s in metadata.labels does nothing, because its pods do not have it: add it to %s",
				v1alpha1.SequenceLabel, beside, t.path("metadata.labels"))
		}
		return
	}
	if l.Config.IsOwn(pod) || pod.Spec.NodeName != "" {
		return // nothing ever holds it, or it is past that
	}
	named := l.Snapshot.Sequence(types.NamespacedName{Namespace: namespace, Name: value})
	switch {
	case value == "":
		l.addTo(t, Warning, rule, "the label %s in %s has no value: set it to the name of a PodSequence",
			v1alpha1.SequenceLabel, t.path("metadata.labels"))
	case !isOurs(pod, &l.Config) && !hasGate(pod, &l.Config):
		if len(l.waiting(t)) == 0 { // else that is said by ungoverned
			why, fix := l.howToHold(t, v1alpha1.DefaultSchedulingGateName)
			l.addTo(t, Warning, rule, "its pods start at once, because %s: %s", why, fix)
		}
	case named == nil:
		l.missing(t, rule, value)
	case named.Target != namespace:
		l.addTo(t, Warning, rule, "the label %s names %s, which orders pods of namespace %s only: it holds these pods only until it exists; "+
			"name a PodSequence of namespace %s whose groups select them, or remove the label",
			v1alpha1.SequenceLabel, named, named.Target, namespace)
	default:
		_, judged := l.Judged(named)
		if _, isMember := placeIn(t.places, named); judged && !isMember {
			l.addTo(t, Warning, rule, "the label %s names %s, but no group there selects these pods: it holds them only until it exists; "+
				"correct the podSelector of a group, or the labels in %s", v1alpha1.SequenceLabel, named, t.path("metadata.labels"))
		}
	}
}

// missing says that the label names a PodSequence that does not exist, if that is known.
func (l *linter) missing(t *template, rule, name string) {
	namespace := t.object.GetNamespace()
	if !l.offline && namespace != l.namespace {
		return
	}
	var others []string
	for _, s := range l.Sequences {
		if s.Key().Namespace == namespace {
			others = append(others, s.Key().Name)
		}
	}
	fix := "correct the label in " + t.path("metadata.labels")
	if meant := nearest(name, others); meant != "" {
		fix = fmt.Sprintf("did you mean %s?", meant)
	}
	what := fmt.Sprintf("the label %s names PodSequence %s/%s", v1alpha1.SequenceLabel, namespace, name)
	switch {
	case !l.offline:
		l.addTo(t, Error, rule, "%s, which does not exist: its pods wait until somebody creates it; create it, or %s", what, fix)
	case len(others) > 0:
		l.addTo(t, Error, rule, "%s, which the files do not have: its pods wait until somebody creates it; add it to the files, or %s", what, fix)
	default:
		l.addTo(t, Warning, rule, "%s, and the files have no PodSequence of namespace %s: its pods wait until somebody creates it; "+
			"check that it exists, or %s", what, namespace, fix)
	}
}
