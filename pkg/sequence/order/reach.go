package order

import (
	"k8s.io/apimachinery/pkg/labels"
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

// in is where members live that live in certain namespaces.
func in(namespaces ...string) where {
	names := make(map[string]struct{}, len(namespaces))
	for _, name := range namespaces {
		names[name] = struct{}{}
	}
	return where{names: names}
}
