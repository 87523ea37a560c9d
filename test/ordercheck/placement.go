package ordercheck

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// placement is which pods and workloads the groups of a spec have, in namespaces with the labels that they have.
type placement struct {
	*sequenceFacts
	world   *world
	reach   map[string][]int // of a ClusterPodSequence: the groups whose members may live in a namespace
	all     []int            // of any other: all groups
	members []members
	placed  map[types.NamespacedName]int   // pod to group
	naming  map[types.NamespacedName][]int // pod to the groups by name that have it, in order
	homes   map[types.UID]place            // workload to the group whose selector takes its pods
}

// place is the group that expects the pods of a workload.
type place struct {
	namespace string
	group     int
}

// members are the pods of one group that are neither terminating nor gone. A pod changes under it without notice, so
// it remembers which were ready when they were added: the count then stays true without looking at all again.
type members struct {
	readiness map[types.NamespacedName]bool
	ready     int
}

func (m *members) add(name types.NamespacedName, ready bool) {
	m.readiness[name] = ready
	if ready {
		m.ready++
	}
}

func (m *members) remove(name types.NamespacedName) {
	if m.readiness[name] {
		m.ready--
	}
	delete(m.readiness, name)
}

func newPlacement(f *sequenceFacts, w *world) placement {
	pl := placement{
		sequenceFacts: f,
		world:         w,
		reach:         map[string][]int{},
		members:       make([]members, len(f.groups)),
		placed:        map[types.NamespacedName]int{},
		naming:        map[types.NamespacedName][]int{},
		homes:         map[types.UID]place{},
	}
	for i, group := range f.groups {
		pl.all = append(pl.all, i)
		pl.members[i].readiness = map[types.NamespacedName]bool{}
		for _, name := range group.names {
			key := types.NamespacedName{Namespace: group.home.names[0], Name: name}
			pl.naming[key] = append(pl.naming[key], i)
		}
	}
	for _, namespace := range pl.spans() {
		ns := w.in(namespace)
		for _, workload := range ns.workloads {
			pl.house(workload)
		}
		for _, p := range ns.pods {
			pl.place(p)
		}
	}
	return pl
}

// groupsIn returns the groups whose members may live in a namespace, in order. A placement goes by the labels that the namespace
// had when it was made, or when it first asked: a change of labels makes another one.
func (pl *placement) groupsIn(namespace string) []int {
	if !pl.isCluster() {
		if namespace != pl.target {
			return nil
		}
		return pl.all
	}
	in, known := pl.reach[namespace]
	if !known {
		in = pl.sequenceFacts.groupsIn(namespace, pl.world.labels[namespace])
		pl.reach[namespace] = in
	}
	return in
}

// spans returns the namespaces that have or had anything, and where some group may have members.
func (pl *placement) spans() []string {
	if !pl.isCluster() {
		return []string{pl.target}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(pl.world.byNamespace)), func(ns string) bool { return len(pl.groupsIn(ns)) == 0 })
}

// groupOf returns the index of the group that takes the pod, and whether there is one.
func (pl *placement) groupOf(p *podFacts) (int, bool) {
	return pl.sequenceFacts.groupOf(p, pl.world.isAside(p), pl.groupsIn(p.Namespace))
}

func (pl *placement) place(p *pod) {
	group, ok := pl.groupOf(p.podFacts)
	if !ok || p.terminating {
		return
	}
	pl.placed[p.NamespacedName] = group
	pl.members[group].add(p.NamespacedName, p.has(pl.groups[group].reached))
}

func (pl *placement) displace(name types.NamespacedName) {
	group, ok := pl.placed[name]
	if !ok {
		return
	}
	delete(pl.placed, name)
	pl.members[group].remove(name)
}

// placePodsOf places the pods of a Job anew.
func (pl *placement) placePodsOf(f *workloadFacts) {
	for _, p := range pl.world.in(f.Namespace).owned[f.uid] {
		pl.displace(p.NamespacedName)
		pl.place(p)
	}
}

// house finds the group that expects a workload's pods.
func (pl *placement) house(f *workloadFacts) {
	if group, ok := pl.placeOf(f.template, pl.groupsIn(f.Namespace)); ok && !isOurs(f.Namespace, f.template) && !f.aside {
		pl.homes[f.uid] = place{f.Namespace, group}
	} else {
		delete(pl.homes, f.uid)
	}
}

// homeOf is the group that expects the pods of a workload, -1 for none.
func (pl *placement) homeOf(f *workloadFacts) int {
	if home, ok := pl.homes[f.uid]; ok {
		return home.group
	}
	return -1
}

// counts reports whether a group counts a pod, which an earlier group may have if this one names it.
func (pl *placement) counts(p *podFacts, g int) bool {
	at, ok := pl.groupOf(p)
	return !p.terminating && (ok && at == g || slices.Contains(pl.naming[p.NamespacedName], g))
}

// touchedBy are the groups whose standing a pod may change: the one it is in, those that name it, and the one that counts
// it with its workload.
func (pl *placement) touchedBy(p *podFacts) sets.Set[int] {
	touched := sets.New[int]()
	if p == nil {
		return touched
	}
	if group, ok := pl.groupOf(p); ok {
		touched.Insert(group)
	}
	touched.Insert(pl.naming[p.NamespacedName]...)
	if owner := pl.world.in(p.Namespace).ownerOf(p); owner.workload != nil {
		if home := pl.homeOf(owner.workload); home >= 0 {
			touched.Insert(home)
		}
	}
	return touched
}

func (pl *placement) bySelector() sets.Set[int] {
	groups := sets.New[int]()
	for g, group := range pl.groups {
		if group.selector != nil {
			groups.Insert(g)
		}
	}
	return groups
}

// withIdleDaemonSets are the groups for which a node may matter across the cluster.
func (pl *placement) withIdleDaemonSets() sets.Set[int] {
	groups := sets.New[int]()
	for uid, home := range pl.homes {
		if f := pl.world.in(home.namespace).workloads[uid]; f != nil && f.isIdle() {
			groups.Insert(home.group)
		}
	}
	return groups
}

// groupOfLost is the group by label that a lost member belongs to. A pod that some group names is expected by its name.
func (pl *placement) groupOfLost(l *lost) (int, bool) {
	if l.pod && len(pl.naming[l.NamespacedName]) > 0 {
		return 0, false
	}
	return pl.placeOf(l.labels, pl.groupsIn(l.Namespace))
}

// isGoing reports whether a workload is being deleted, or the namespace of a ClusterPodSequence that it is in.
func (pl *placement) isGoing(f *workloadFacts) bool {
	return f.goes() || pl.isCluster() && pl.world.going.Has(f.Namespace)
}
