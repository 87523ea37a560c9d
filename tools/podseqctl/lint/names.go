package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// similarNames looks for names of groups that people confuse.
func (l *linter) similarNames(s *snapshot.Sequence) {
	groups := s.Spec.PodGroups
	for j := range groups {
		for i := range j {
			if groups[i].Name != groups[j].Name && strings.EqualFold(groups[i].Name, groups[j].Name) {
				l.add(s, Warning, "SimilarNames", "the names of %s and %s differ only in upper and lower case, and dependsOn tells them apart: rename one of them",
					s.Where(i), s.Where(j))
			}
		}
	}
}

// names looks at the pods that a group names.
func (l *linter) names(s *snapshot.Sequence, i int) {
	var missing, unlikely []string
	for _, name := range s.Spec.PodGroups[i].Pods {
		switch owner := l.workloadNamed(s, i, name); {
		case l.hasPod(s, i, name):
		case owner != nil:
			l.add(s, Warning, "MatchesNothing", "%s names %s, which is the name of %s and not of a pod: later groups wait until a pod of this name exists; %s",
				s.Where(i), name, owner, insteadOf(owner))
		default:
			missing = append(missing, name)
			if !hasOrdinal(name) {
				unlikely = append(unlikely, name)
			}
		}
	}
	switch {
	case len(l.templates) > 0 && len(missing) > 0:
		l.add(s, Warning, "MatchesNothing", "%s names %s, which is not a pod%s and which no StatefulSet creates: later groups wait until it exists; correct the name",
			s.Where(i), strings.Join(missing, ", "), l.amongFiles())
	case len(l.templates) == 0 && len(unlikely) > 0:
		l.add(s, Note, "MatchesNothing", "%s names %s: these must be names of pods; if you mean a Deployment, use podSelector, because the names of its pods are generated, "+
			"and if you mean a StatefulSet NAME, its pods are NAME-0, NAME-1 and so on", s.Where(i), strings.Join(unlikely, ", "))
	}
}

// hasPod reports whether a pod of this name exists, or will, where the group has its members.
func (l *linter) hasPod(s *snapshot.Sequence, i int, name string) bool {
	isMade := func(pod *corev1.Pod) bool { return pod.Name == name && l.mayHave(s, i, pod.Namespace) }
	return slices.ContainsFunc(l.Pods, isMade) ||
		slices.ContainsFunc(l.templates, func(t *template) bool { return slices.ContainsFunc(t.pods, isMade) })
}

// workloadNamed returns the workload of this name where the group has its members; nil if there is none.
func (l *linter) workloadNamed(s *snapshot.Sequence, i int, name string) *template {
	for _, t := range l.templates {
		if t.kind != inventory.KindPod && t.object.GetName() == name && l.mayHave(s, i, t.object.GetNamespace()) {
			return t
		}
	}
	return nil
}

// insteadOf says how to name or select the pods of a workload.
func insteadOf(t *template) string {
	if t.kind == inventory.KindStatefulSet && len(t.pods) > 0 {
		names := []string{}
		for _, pod := range t.pods {
			names = append(names, pod.Name)
		}
		return fmt.Sprintf("its pods are named %s: write these, or use podSelector", firstOf(names))
	}
	if len(t.pods) == 0 {
		return "use podSelector with the labels of its pods"
	}
	given := maps.Clone(t.pods[0].Labels)
	delete(given, v1alpha1.SequenceLabel)
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(given)) {
		pairs = append(pairs, fmt.Sprintf("%s: %q", key, given[key]))
	}
	if len(pairs) == 0 {
		return "its pods have generated names: give them a label, and use podSelector"
	}
	return fmt.Sprintf("its pods have generated names: use podSelector: {matchLabels: {%s}}", strings.Join(pairs, ", "))
}

// hasOrdinal reports whether a name ends as those of a StatefulSet's pods do.
func hasOrdinal(name string) bool {
	ordinal := name[strings.LastIndex(name, "-")+1:]
	return ordinal != name && ordinal != "" && strings.Trim(ordinal, "0123456789") == ""
}
