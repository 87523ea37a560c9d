package timeline

import (
	"slices"
)

// hasOthers reports whether another sequence held some pod.
func (t *Timeline) hasOthers() bool {
	return slices.ContainsFunc(t.Groups, func(g Group) bool {
		return slices.ContainsFunc(g.Pods, func(p Pod) bool { return p.HeldBy != "" })
	})
}
