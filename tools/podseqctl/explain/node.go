package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/internal/podtrouble"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// nodes explains what those of the nodes wait for that are not past the groups before the given one.
func (e *Explainer) nodes(s *snapshot.Sequence, before int, concerns func(node string) bool) []Reason {
	report, ok := e.Report(s)
	if !ok {
		return nil
	}
	var reasons []Reason
	for _, node := range report.Nodes {
		if node.Group == nil || node.Current >= before || !concerns(node.Name) {
			continue
		}
		if len(reasons) == maxListed && !e.All {
			return append(reasons, Reason{Subject: "more", State: Held, Message: "more nodes wait; --all lists them"})
		}
		g := node.Group
		r := Reason{Subject: "node " + node.Name, State: Held, Message: fmt.Sprintf("waits for %s: %s", s.Where(node.Current), g.Progress)}
		if g.Failure != nil {
			r.State = Stuck
		}
		if len(g.Members) == 0 && g.NodeTrouble != "" {
			r.State, r.Message = Stuck, r.Message+"; "+g.NodeTrouble
		}
		r.Because = e.membersOn(node.Name, s, node.Current, g.Expected, g.Members, g.ReadyMembers)
		reasons = append(reasons, r)
	}
	return reasons
}

// membersOn explains what a group lacks on a node: pods that DaemonSets have not made there, pods there that are not ready, and objects.
func (e *Explainer) membersOn(node string, s *snapshot.Sequence, i, expected int, members, ready []string) []Reason {
	var reasons []Reason
	var waiting []*corev1.Pod
	present := map[string]bool{}
	parts := e.Parts(s, i)
	for _, name := range members {
		pod := e.Member(s, name)
		if pod == nil {
			continue
		}
		present[e.ownerAmong(pod, parts)] = true
		if !slices.Contains(ready, name) {
			waiting = append(waiting, pod)
		}
	}
	for _, part := range parts {
		if part.Kind != inventory.KindDaemonSet || present[ownerKey(part)] || len(members) >= expected {
			continue
		}
		r := Reason{Subject: fmt.Sprintf("%s %s", part.Kind, e.short(part.Namespace, part.Name)), State: Waiting, Message: "has no pod on node " + node + " yet"}
		if object := e.Snapshot.Workload(part.Kind, part.Namespace, part.Name); object != nil {
			if warning := e.Warning(object.GetUID(), "FailedCreate", "FailedDaemonPod"); warning != nil {
				r.State, r.Message = Stuck, r.Message+": "+podtrouble.OneLine(warning.Message)
			}
		}
		reasons = append(reasons, r)
	}
	reasons = append(reasons, e.pods(waiting, s.Spec.PodGroups[i].PodGroup)...)
	return append(reasons, e.objects(s, i)...)
}
