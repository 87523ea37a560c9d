package ordercheck

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
)

// weighOn says how a group stands on one node.
func (v *version) weighOn(node string, g int, w *world) outcome {
	facts := w.nodes[node]
	if facts == nil {
		return outcome{}
	}
	group := v.groups[g]
	if !facts.inside(group.nodeSelector) {
		return outcome{skipped: true}
	}
	ns := w.in(v.target)
	var out outcome
	var times turns
	for name, p := range ns.onNode[node] {
		if at, placed := v.placed[name]; !placed || at != g || p.failed && p.owner.uid != "" {
			continue
		}
		out.tally.of++
		if facts.has(p.podFacts, group.reached) {
			out.tally.ready++
			times.add(p.readySeen, 1)
		}
	}
	members, missing := out.tally.of, len(v.missingOn(facts, g, w))
	out.tally.of += missing
	enough := group.enough.of(out.tally.of)
	switch {
	case group.enough.text == "":
		out.satisfied = members > 0 && out.tally.ready == members && missing == 0
	case group.enough.percent:
		out.satisfied = out.tally.of > 0 && out.tally.ready >= enough
	default:
		out.satisfied = out.tally.ready >= enough
	}
	if out.satisfied {
		out.since = kth(times, enough)
	}
	return out
}

// missingOn are the DaemonSets of a group that should have a pod on a node and have none. A failed one is replaced.
func (v *version) missingOn(node *nodeFacts, g int, w *world) []*workloadFacts {
	ns := w.in(v.target)
	var missing []*workloadFacts
	for _, set := range v.dueOn(node, g, ns) {
		has := false
		for _, p := range ns.onNode[node.node.Name] {
			has = has || p.owner.uid == set.uid && !p.terminating && !p.failed
		}
		if !has {
			missing = append(missing, set)
		}
	}
	return missing
}

// dueOn are the DaemonSets of a group that should run on a node.
func (v *version) dueOn(node *nodeFacts, g int, ns *namespace) []*workloadFacts {
	var due []*workloadFacts
	for uid, home := range v.homes {
		f := ns.workloads[uid]
		if home != g || f.terminating {
			continue
		}
		if set, ok := f.object.(*appsv1.DaemonSet); ok {
			if should, _ := daemon.NodeShouldRunDaemonPod(klog.Logger{}, node.node, set); should {
				due = append(due, f)
			}
		}
	}
	return due
}

// firstReleaseOn is when the first group was released on a node, at the earliest.
func (v *version) firstReleaseOn(node *nodeFacts, w *world) time.Time {
	at := later(v.created, node.node.CreationTimestamp.Time)
	for _, f := range v.dueOn(node, 0, w.in(v.target)) {
		at = later(at, f.created)
	}
	return at
}

// lacksOn says in words what a group waits for on a node.
func (v *version) lacksOn(node string, g int, w *world) []string {
	facts := w.nodes[node]
	if facts == nil {
		return []string{"there was no such node"}
	}
	var lacks []string
	for name, p := range w.in(v.target).onNode[node] {
		switch at, placed := v.placed[name]; {
		case !placed || at != g || facts.has(p.podFacts, v.groups[g].reached):
		case p.has(v.groups[g].reached):
			lacks = append(lacks, name+" had not been ready since the node was made")
		default:
			lacks = append(lacks, w.whyNot(v.target, name, v.groups[g].reached))
		}
	}
	for _, f := range v.missingOn(facts, g, w) {
		lacks = append(lacks, fmt.Sprintf("%s had no pod there", f))
	}
	slices.Sort(lacks)
	if len(lacks) == 0 {
		lacks = []string{"it had no pod there"}
	}
	return lacks
}
