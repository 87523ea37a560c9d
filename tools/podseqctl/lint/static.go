package lint

import (
	"slices"

	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// staticPods says which members of a group that waits for others are static pods. No setting in their files would hold them.
func (l *linter) staticPods(s *snapshot.Sequence, i int) {
	if len(l.Predecessors(s, i)) == 0 {
		return
	}
	var names []string
	for _, pod := range l.Snapshot.Pods {
		isMember := func(p sequence.Place) bool { return p.Sequence == s.Key() && p.Group == i }
		if inventory.IsMirror(pod) && slices.ContainsFunc(l.Places(pod), isMember) {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	l.add(s, Note, "StaticPods", "%s has static pods: %s; kubelet starts them without a scheduler, so nothing can hold them: "+
		"to order only pods that can be held, leave them out of podSelector", s.Where(i), firstOf(names))
}
