package lint

import (
	"fmt"
	"slices"
	"strings"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// unprobed looks at whether others wait for a group whose pods the kubelet calls ready as soon as they run.
func (l *linter) unprobed(s *snapshot.Sequence, i int, members []*template) {
	g := s.Spec.PodGroups[i].PodGroup
	if g.MinReadySeconds != nil || g.Skip || len(s.Spec.PodGroups) == 1 || !l.isAwaited(s, i) {
		return
	}
	withoutLimit := l.Config
	withoutLimit.UnprobedReady = 1
	var unprobed []string
	for _, t := range members {
		if t.kind != inventory.KindJob && withoutLimit.MinReady(t.pods[0], &g) > 0 {
			unprobed = append(unprobed, t.String())
		}
	}
	if len(unprobed) == 0 {
		return
	}
	slices.Sort(unprobed)
	const most = 3
	if more := len(unprobed) - most; more > 0 {
		unprobed = append(unprobed[:most], fmt.Sprintf("%d more", more))
	}
	after := "at once"
	if l.Config.UnprobedReady > 0 {
		after = fmt.Sprintf("after %s without a crash", l.Config.UnprobedReady)
	}
	l.add(s, Note, "NoReadinessProbe", "%s has pods without a readiness probe, of %s: they count as ready %s, whether they work or not; "+
		"add a readinessProbe to the pod template, or set minReadySeconds in the group", s.Where(i), strings.Join(unprobed, ", "), after)
}
