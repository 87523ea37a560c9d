package spec

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// where says in which namespaces the members of a group live. Exactly one is set; neither if the spec makes no sense.
type where struct {
	names    map[string]struct{}
	selector labels.Selector
}

// reaches reports whether members may live in a namespace with these labels. selectable reports whether they may select it.
func (w *where) reaches(namespace string, namespaceLabels map[string]string, selectable bool) bool {
	if w.selector != nil {
		return selectable && w.selector.Matches(labels.Set(namespaceLabels))
	}
	_, named := w.names[namespace]
	return named
}

// GroupsIn returns the groups that may have members in a namespace. exists reports whether the Namespace is known to exist; its
// labels select it only then, and not if it is one that has to be named.
func (s *Sequence) GroupsIn(namespace string, namespaceLabels map[string]string, exists bool) GroupSet {
	if !s.Cluster {
		if namespace != s.Namespace {
			return 0
		}
		return Before(len(s.Groups))
	}
	groups, selectable := GroupSet(0), exists && s.IsSelectable(namespace)
	for i, g := range s.Groups {
		if g.where.reaches(namespace, namespaceLabels, selectable) {
			groups.Add(i)
		}
	}
	return groups
}

// NamedNamespaces returns the namespaces that the spec names, whether they exist or not.
func (s *Sequence) NamedNamespaces() map[string]struct{} {
	named := map[string]struct{}{}
	if !s.Cluster {
		named[s.Namespace] = struct{}{}
	}
	for _, g := range s.Groups {
		for name := range g.where.names {
			named[name] = struct{}{}
		}
	}
	return named
}

// SelectsNamespaces reports whether the group has its members in namespaces with certain labels.
func (g *Group) SelectsNamespaces() bool { return g.where.selector != nil }

// SelectsNamespaces reports whether any group has its members in namespaces with certain labels.
func (s *Sequence) SelectsNamespaces() bool {
	return slices.ContainsFunc(s.Groups, (*Group).SelectsNamespaces)
}

// NamesPod reports whether the group names a pod.
func (g *Group) NamesPod(namespace, name string) bool {
	if _, named := g.Names[name]; !named {
		return false
	}
	_, there := g.where.names[namespace]
	return there
}

// compileWhere reads where the members of a group of a ClusterPodSequence live. It reports whether that makes sense.
func (s *Sequence) compileWhere(i int, spec *v1alpha1.ClusterPodGroup) (where, bool) {
	switch {
	case (len(spec.Namespaces) == 0) == (spec.NamespaceSelector == nil):
		s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d] must set exactly one of namespaces and namespaceSelector", i)
		return where{}, false
	case len(spec.Pods) > 0 && len(spec.Namespaces) != 1:
		s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d]: pods needs exactly one entry in namespaces", i)
		return where{}, false
	case spec.NamespaceSelector != nil:
		selector, err := Selector(spec.NamespaceSelector)
		if err != nil {
			s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d].namespaceSelector: %v", i, err)
			return where{}, false
		}
		return where{selector: selector}, true
	}
	return in(spec.Namespaces...), true
}

// in is where members live that live in certain namespaces.
func in(namespaces ...string) where {
	names := make(map[string]struct{}, len(namespaces))
	for _, name := range namespaces {
		names[name] = struct{}{}
	}
	return where{names: names}
}
