package ordercheck

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
)

// nodeMuster is a group of a version on one node.
type nodeMuster struct {
	muster
	node *nodeFacts // nil if there is no such node
}

// weigh says how the group stands.
func (m nodeMuster) weigh() outcome {
	if m.node == nil {
		return outcome{}
	}
	if !m.node.inside(m.group.nodeSelector) {
		return outcome{skipped: true}
	}
	out := outcome{}
	if !m.group.memberless {
		out = m.weighMembers()
	}
	return m.withConditions(m.withObjects(out))
}

// weighMembers says how its members there stand.
func (m nodeMuster) weighMembers() outcome {
	group := m.group
	var out outcome
	var times turns
	for p := range m.pods() {
		if p.failed && p.owner.uid != "" && !p.static {
			continue
		}
		out.count.of++
		if m.node.has(p, group.reached) {
			out.count.ready++
			times.add(m.rules.countsFrom(p, group), 1)
		}
	}
	members, missing := out.count.of, len(m.missing())
	out.count.of = max(out.count.of+missing, group.atLeast)
	enough := group.enough.of(out.count.of)
	switch {
	case m.goes() && !group.enough.none(): // it satisfies nobody
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

// withConditions adds to how a group stands how the conditions of the node do.
func (m nodeMuster) withConditions(out outcome) outcome {
	said := m.said()
	for _, r := range m.group.conditions {
		out.satisfied = out.satisfied && holds(said, r)
		out.since = later(out.since, said[r.Type].since)
	}
	if !out.satisfied {
		out.since = time.Time{}
	}
	return out
}

// said is what is said of the node.
func (m nodeMuster) said() map[string]nodeSaying { return m.world.sayings[m.node.node.Name].now }

// pods yields the members that are bound to the node.
func (m nodeMuster) pods() iter.Seq[*pod] {
	return func(yield func(*pod) bool) {
		for _, namespace := range m.spans() {
			for _, p := range m.world.in(namespace).onNode[m.node.node.Name] {
				if at, placed := m.placed[p.NamespacedName]; placed && at == m.index && !yield(p) {
					return
				}
			}
		}
	}
}

// missing are the DaemonSets of the group that should have a pod there and have none. A failed one is replaced.
func (m nodeMuster) missing() []*workloadFacts {
	var missing []*workloadFacts
	for _, set := range m.due() {
		has := false
		for _, p := range m.world.in(set.Namespace).onNode[m.node.node.Name] {
			has = has || p.owner.uid == set.uid && !p.terminating && !p.failed
		}
		if !has {
			missing = append(missing, set)
		}
	}
	return missing
}

// due are the DaemonSets of the group that should run there.
func (m nodeMuster) due() []*workloadFacts {
	var due []*workloadFacts
	for uid, home := range m.homes {
		f := m.world.in(home.namespace).workloads[uid]
		if home.group != m.index {
			continue
		}
		if set, ok := f.object.(*appsv1.DaemonSet); ok {
			if should, _ := daemon.NodeShouldRunDaemonPod(klog.Logger{}, m.node.node, set); should {
				due = append(due, f)
			}
		}
	}
	return due
}

// goes reports whether a DaemonSet is being deleted that should run there.
func (m nodeMuster) goes() bool {
	return slices.ContainsFunc(m.due(), m.isGoing)
}

// lacks says in words what the group waits for there.
func (m nodeMuster) lacks() string {
	if m.node == nil {
		return "there was no such node"
	}
	var lacks []string
	members := 0
	for p := range m.pods() {
		members++
		switch {
		case m.node.has(p, m.group.reached):
		case p.has(m.group.reached):
			lacks = append(lacks, m.callPod(p.NamespacedName)+" had not been ready since the node was made")
		default:
			lacks = append(lacks, m.callPod(p.NamespacedName)+" "+m.world.whyNot(p.NamespacedName, m.group.reached))
		}
	}
	if least := m.group.atLeast; members < least {
		lacks = append(lacks, fmt.Sprintf("it had %d of the %d pods there that it expects", members, least))
	}
	for _, f := range m.missing() {
		lacks = append(lacks, fmt.Sprintf("%s had no pod there", m.call(f)))
	}
	lacks = append(lacks, m.lacksObjects()...)
	lacks = append(lacks, m.lacksConditions()...)
	slices.Sort(lacks)
	if len(lacks) == 0 {
		return "it had no pod there"
	}
	return strings.Join(cut(lacks), ", ")
}

// lacksConditions says in words which conditions of the node the group waits for.
func (m nodeMuster) lacksConditions() []string {
	var lacks []string
	said := m.said()
	for _, r := range m.group.conditions {
		switch c, present := said[r.Type]; {
		case holds(said, r):
		case !present:
			lacks = append(lacks, fmt.Sprintf("the node had no condition %s", r.Type))
		default:
			lacks = append(lacks, fmt.Sprintf("condition %s was %s, not %s", r.Type, c.status, statusOf(r)))
		}
	}
	return lacks
}
