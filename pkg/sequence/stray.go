package sequence

import (
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// A stray pod names a PodSequence of its namespace by its label, and no group of that sequence selects it. Each namespace keeps its stray
// pods by the name of the sequence, so that what a report costs does not grow with the pods that are members.

// strayPods reports the pods that name the sequence and that none of its groups selects. Whether one does is not known of a spec that
// cannot be read.
func (k *knowledge) strayPods(s *sequence) (spec.Problem, bool) {
	ns := k.namespaces[s.Key.Namespace]
	if ns == nil || s.Cluster || len(ns.strays[s.Key.Name]) == 0 || s.isUnreadable() {
		return spec.Problem{}, false
	}
	var pods []report.StrayPod
	for p := range ns.strays[s.Key.Name] {
		pods = append(pods, report.StrayPodOf(p.Pod))
	}
	return report.StrayPods(pods, s.Sequence), true
}
