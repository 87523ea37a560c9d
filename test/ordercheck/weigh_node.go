package ordercheck

import (
	"fmt"
	"iter"
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
	out := outcome{}
	if !group.memberless {
		out = v.weighMembersOn(facts, g, w)
	}
	return v.withConditions(v.withObjects(out, g, w), node, g, w)
}

// weighMembersOn says how the members of a group on one node stand.
func (v *version) weighMembersOn(facts *nodeFacts, g int, w *world) outcome {
	group, node := v.groups[g], facts.node.Name
	var out outcome
	var times turns
	for p := range v.membersOn(node, g, w) {
		if p.failed && p.owner.uid != "" && !p.static {
			continue
		}
		out.count.of++
		if facts.has(p, group.reached) {
			out.count.ready++
			times.add(v.rules.countsFrom(p, &group), 1)
		}
	}
	members, missing := out.count.of, len(v.missingOn(facts, g, w))
	out.count.of = max(out.count.of+missing, group.atLeast)
	enough := group.enough.of(out.count.of)
	switch {
	case v.goesOn(facts, g, w) && !group.enough.none(): // it satisfies nobody
	case group.enough.text == "":
		out.satisfied = members > 0 && out.count.ready == members && missing == 0 && members >= group.atLeast
	case group.enough.percent:
		out.satisfied = out.count.of > 0 && out.count.ready >= enough
	default:
		out.satisfied = out.count.ready >= enough
	}
	if out.satisfied {
		out.since = kth(times, enough)
	}
	return out
}

// membersOn yields the members of a group that are bound to a node.
func (v *version) membersOn(node string, g int, w *world) iter.Seq[*pod] {
	return func(yield func(*pod) bool) {
		for _, namespace := range v.spans(w) {
			for _, p := range w.in(namespace).onNode[node] {
				if at, placed := v.placed[p.NamespacedName]; placed && at == g && !yield(p) {
					return
				}
			}
		}
	}
}

// missingOn are the DaemonSets of a group that should have a pod on a node and have none. A failed one is replaced.
func (v *version) missingOn(node *nodeFacts, g int, w *world) []*workloadFacts {
	var missing []*workloadFacts
	for _, set := range v.dueOn(node, g, w) {
		has := false
		for _, p := range w.in(set.Namespace).onNode[node.node.Name] {
			has = has || p.owner.uid == set.uid && !p.terminating && !p.failed
		}
		if !has {
			missing = append(missing, set)
		}
	}
	return missing
}

// dueOn are the DaemonSets of a group that should run on a node.
func (v *version) dueOn(node *nodeFacts, g int, w *world) []*workloadFacts {
	var due []*workloadFacts
	for uid, home := range v.homes {
		f := w.in(home.namespace).workloads[uid]
		if home.group != g {
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

// goesOn reports whether a DaemonSet is being deleted that should run on a node.
func (v *version) goesOn(node *nodeFacts, g int, w *world) bool {
	return slices.ContainsFunc(v.dueOn(node, g, w), func(f *workloadFacts) bool { return f.goes() || v.isCluster() && w.going.Has(f.Namespace) })
}

// firstReleaseOn is when a group that no other is ahead of was released on a node, at the earliest. Its time runs while nothing of it is
// there, too.
func (v *version) firstReleaseOn(node *nodeFacts) time.Time {
	return later(v.created, node.node.CreationTimestamp.Time)
}

// lacksOn says in words what a group waits for on a node.
func (v *version) lacksOn(node string, g int, w *world) []string {
	facts := w.nodes[node]
	if facts == nil {
		return []string{"there was no such node"}
	}
	var lacks []string
	members := 0
	for p := range v.membersOn(node, g, w) {
		members++
		switch {
		case facts.has(p, v.groups[g].reached):
		case p.has(v.groups[g].reached):
			lacks = append(lacks, v.callPod(p.NamespacedName)+" had not been ready since the node was made")
		default:
			lacks = append(lacks, v.callPod(p.NamespacedName)+" "+w.whyNot(p.NamespacedName, v.groups[g].reached))
		}
	}
	if least := v.groups[g].atLeast; members < least {
		lacks = append(lacks, fmt.Sprintf("it had %d of the %d pods there that it expects", members, least))
	}
	for _, f := range v.missingOn(facts, g, w) {
		lacks = append(lacks, fmt.Sprintf("%s had no pod there", v.call(f)))
	}
	lacks = append(lacks, v.lacksObjects(g, w)...)
	lacks = append(lacks, v.lacksConditions(node, g, w)...)
	slices.Sort(lacks)
	if len(lacks) == 0 {
		lacks = []string{"it had no pod there"}
	}
	return lacks
}
