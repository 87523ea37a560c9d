package lint

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// What a sequence does to the pods that the cluster and PodSequence itself need, and to whom it gives a say in what starts.

// system looks at the namespaces of a group.
func (l *linter) system(s *snapshot.Sequence, i int) {
	if s.Spec.DryRun {
		return
	}
	for _, namespace := range l.systemNamespaces() {
		l.systemNamespace(s, i, namespace)
	}
	l.leavesOut(s, i)
	l.openToOthers(s, i)
}

// systemNamespaces returns those that a namespaceSelector does not select.
func (l *linter) systemNamespaces() []string {
	namespaces := []string{metav1.NamespaceSystem}
	if l.Config.InstallationNamespace != "" {
		namespaces = append(namespaces, l.Config.InstallationNamespace)
	}
	return namespaces
}

// systemNamespace says what a group that waits for others holds in one of these namespaces.
func (l *linter) systemNamespace(s *snapshot.Sequence, i int, namespace string) {
	listed := s.Spec.PodGroups[i].Namespaces
	if !s.IsCluster() {
		listed = []string{s.Target}
	}
	if !slices.Contains(listed, namespace) || len(l.Predecessors(s, i)) == 0 {
		return
	}
	var held []string
	for _, t := range l.templates {
		if t.object.GetNamespace() != namespace {
			continue
		}
		for n, pod := range t.pods {
			isHeld := func(p sequence.Place) bool { return p.Sequence == s.Key() && p.Group == i && p.Governed }
			if pod.Spec.NodeName == "" && slices.ContainsFunc(t.places[n], isHeld) {
				held = append(held, t.String())
				break
			}
		}
	}
	what := "the pods that podsequence-scheduler schedules there"
	if namespace == l.Config.InstallationNamespace {
		what += ", but for those of PodSequence itself,"
	}
	if len(held) > 0 {
		what = "the new pods of " + firstOf(held)
	}
	l.add(s, Warning, "SystemNamespace", "%s has members in namespace %s: %s wait until the earlier groups are ready, which may need them; "+
		"leave the namespace out of the group, or narrow podSelector to pods that the earlier groups can do without", s.Where(i), namespace, what)
}

// leavesOut says that a namespaceSelector does not select the namespaces of the system, if their labels match.
func (l *linter) leavesOut(s *snapshot.Sequence, i int) {
	selector := l.namespaceSelector(s, i)
	if selector == nil {
		return
	}
	var out []string
	for _, name := range l.systemNamespaces() {
		if selector.Matches(l.namespaceLabels(name)) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return
	}
	severity := Note
	if l.isAwaited(s, i) && !slices.ContainsFunc(l.Namespaces, func(namespace *corev1.Namespace) bool {
		return l.Config.IsSelectable(namespace.Name) && selector.Matches(l.namespaceLabels(namespace.Name))
	}) {
		severity = Warning // it waits for nobody, and others wait for it
	}
	l.add(s, severity, "SystemNamespace", "%s leaves out %s: a namespaceSelector never selects namespaces of the system, "+
		"whatever their labels; add a group with namespaces: [%s] if you mean the pods there", s.Where(i), strings.Join(out, " and "), strings.Join(out, ", "))
}

// openToOthers warns of a group that others wait for and that may have members in namespaces of several teams.
func (l *linter) openToOthers(s *snapshot.Sequence, i int) {
	if len(s.Spec.PodGroups) == 1 || s.Spec.PodGroups[i].Skip || !l.isAwaited(s, i) {
		return
	}
	if isOpenToTenants(s.Spec.PodGroups[i].NamespaceSelector) {
		onNodes := ""
		if s.PerNode() {
			onNodes = ", also on nodes of their choice by spec.nodeName"
		}
		l.add(s, Warning, "OpenToTenants", "other groups wait for %s, whose namespaceSelector may select namespaces of several teams: "+
			"whoever may create pods in one of them can hold the pods of later groups with a pod that is never ready%s, "+
			"or release them with one that is, if minAvailable is set; list the namespaces that you control in namespaces", s.Where(i), onNodes)
	}
}

// namespaceSelector returns nil for a group that has none, or one that cannot be read.
func (l *linter) namespaceSelector(s *snapshot.Sequence, i int) labels.Selector {
	if s.Spec.PodGroups[i].NamespaceSelector == nil {
		return nil
	}
	selector, err := order.Selector(s.Spec.PodGroups[i].NamespaceSelector)
	if err != nil {
		return nil
	}
	return selector
}

// namespaceLabels returns the labels of a namespace, or those that every namespace has.
func (l *linter) namespaceLabels(name string) labels.Set {
	for _, namespace := range l.Namespaces {
		if namespace.Name == name && len(namespace.Labels) > 0 {
			return namespace.Labels
		}
	}
	return labels.Set{corev1.LabelMetadataName: name}
}

// ownIn returns a workload of PodSequence itself that the selector of a group matches where the group has its members; nil if there is
// none.
func (l *linter) ownIn(s *snapshot.Sequence, i int) *template {
	g := s.Spec.PodGroups[i]
	selector, err := order.Selector(g.PodSelector)
	if err != nil || g.PodSelector == nil {
		return nil
	}
	for _, t := range l.templates {
		inside := slices.Contains(g.Namespaces, t.object.GetNamespace()) || t.object.GetNamespace() == s.Target
		if len(t.pods) > 0 && inside && l.Config.IsOwn(t.pods[0]) && selector.Matches(labels.Set(t.pods[0].Labels)) {
			return t
		}
	}
	return nil
}

// hasMoreThan reports whether a group may have members that an earlier one can never have, in other namespaces or with other labels.
func hasMoreThan(s *snapshot.Sequence, i, earlier int) bool {
	g, before := s.Spec.PodGroups[i], s.Spec.PodGroups[earlier]
	if isEmpty(g.PodSelector) && !isEmpty(before.PodSelector) || g.NamespaceSelector != nil && before.NamespaceSelector == nil && s.IsCluster() {
		return true
	}
	return before.NamespaceSelector == nil &&
		slices.ContainsFunc(g.Namespaces, func(name string) bool { return !slices.Contains(before.Namespaces, name) })
}

// isEmpty reports whether a selector selects everything.
func isEmpty(selector *v1alpha1.LabelSelector) bool {
	return selector != nil && len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0
}

// firstOf names the first few.
func firstOf(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
