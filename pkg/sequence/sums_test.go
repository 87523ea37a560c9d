package sequence

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/readiness"
	. "example.com/podsequence/test/harness/builders"
)

// checkSums works all sums out anew from the facts, by the same rules and in one pass, and compares them with those that the
// engine keeps up to date by adding and subtracting. What it rests on itself are the pods, workloads and nodes that the engine has, and
// nothing that was derived from them.
func checkSums(e *Engine) error {
	for _, w := range e.workloads.byUID {
		if err := checkWorkload(e, w); err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	for _, s := range e.sequences {
		if err := checkSequenceSums(e, s); err != nil {
			return fmt.Errorf("%s: %w", s.Key, err)
		}
	}
	return checkPodIndexes(e)
}

// checkPodIndexes compares which pods run on which node, whose the pods of sequences are, and which sequences keep from nodes.
func checkPodIndexes(e *Engine) error {
	onNodes, owned := lists[string, *pod]{}, lists[types.UID, *pod]{}
	unplaced := newUnplaced(&e.nodes)
	for _, ns := range e.namespaces {
		for _, p := range ns.pods {
			if p.Bound() && !p.Failed && !p.Succeeded {
				onNodes.add(p.Node, p)
			}
			if len(p.memberships()) > 0 && p.OwnerUID != "" {
				owned.add(p.OwnerUID, p)
			}
			needs := e.settings.needs(p)
			for _, m := range needs {
				if pin := p.Pin(); pin != (inventory.Pin{}) {
					insert(unplaced.pinned, pin, p)
				} else {
					insert(unplaced.unpinned, m, p)
				}
			}
			if !slices.Equal(needs, p.needs()) {
				return fmt.Errorf("%s is kept from nodes by %v, want %v", p.Name, p.needs(), needs)
			}
		}
	}
	if !reflect.DeepEqual(unplaced.pinned, e.unplaced.pinned) || !reflect.DeepEqual(unplaced.unpinned, e.unplaced.unpinned) {
		return fmt.Errorf("the pods that are kept from nodes are %d and %d, want %d and %d", len(e.unplaced.pinned), len(e.unplaced.unpinned),
			len(unplaced.pinned), len(unplaced.unpinned))
	}
	if err := comparePods(onNodes, e.nodes.pods); err != nil {
		return fmt.Errorf("pods of nodes: %w", err)
	}
	if err := comparePods(owned, e.workloads.ownedPods); err != nil {
		return fmt.Errorf("pods of owners: %w", err)
	}
	return nil
}

func comparePods[K comparable](want, got lists[K, *pod]) error {
	if len(want) != len(got) {
		return fmt.Errorf("there are %d, want %d", len(got), len(want))
	}
	for key, pods := range want {
		if len(got[key]) != len(pods) {
			return fmt.Errorf("%v has other pods", key)
		}
		for _, p := range pods {
			if !slices.Contains(got[key], p) {
				return fmt.Errorf("%v lacks %s", key, p.Name)
			}
		}
	}
	return nil
}

// checkWorkload compares what is derived for one workload: its newest revision, where it is due, and what it has on nodes.
func checkWorkload(e *Engine, w *workload) error {
	siblings := workloads{byUID: e.workloads.byUID, ownedWorkloads: map[types.UID]map[*workload]struct{}{}}
	for _, other := range e.workloads.byUID {
		if other.Owner != "" {
			insert(siblings.ownedWorkloads, other.Owner, other)
		}
	}
	if w.Kind == inventory.KindDeployment {
		if want := siblings.newestReplicaSet(w); w.Revision != want {
			return fmt.Errorf("its newest ReplicaSet is %q, want %q", w.Revision, want)
		}
	}
	if w.Kind == inventory.KindJob && w.Owner != "" {
		want := w.CreatedAt.Before(e.workloads.unfinished[w.Owner])
		for other := range siblings.ownedWorkloads[w.Owner] {
			want = want || (other.Kind == w.Kind && other.StartedAfter(&w.Workload))
		}
		if w.Superseded != want {
			return fmt.Errorf("superseded is %t, want %t", w.Superseded, want)
		}
	}
	if w.Kind != inventory.KindDaemonSet {
		return nil
	}
	onNode := map[string]int{}
	for _, p := range e.namespaces.pods(w.Namespace) {
		if p.OwnerUID == w.UID && p.Bound() && !p.Terminating && !p.Failed {
			onNode[p.Node]++
		}
	}
	if !maps.Equal(onNode, w.onNode) {
		return fmt.Errorf("its pods on nodes are %v, want %v", w.onNode, onNode)
	}
	for name, n := range e.nodes.byName {
		should, _ := daemon.NodeShouldRunDaemonPod(klog.Background(), n.Object, w.Object.(*appsv1.DaemonSet))
		if due := w.dueRule.IsDueOn(&n.Node); due != should {
			return fmt.Errorf("due on %s is %t", name, due)
		}
	}
	return nil
}

// waitsForNode works out from all nodes whether a DaemonSet expects no pod only because no node is ready for it.
func waitsForNode(e *Engine, w *workload) bool {
	rule := readiness.DueRule{}
	if w.Kind == inventory.KindDaemonSet {
		rule = *readiness.NewDueRule(&w.Workload)
	}
	return readiness.WaitsForNode(&w.Workload, func(yield func(readiness.Prospect) bool) {
		for _, n := range e.nodes.byName {
			if !yield(rule.ProspectOf(&n.Node)) {
				return
			}
		}
	})
}

// groupSums are the sums of one group in one domain.
type groupSums struct {
	pods    map[types.UID]struct{}
	members readiness.Members
	demands readiness.Demands
}

type placeOfSums struct {
	domain string
	group  int
}

// checkSequenceSums compares the sums of one sequence.
func checkSequenceSums(e *Engine, s *sequence) error {
	want := map[placeOfSums]*groupSums{}
	sumsOf := func(domain string, group int) *groupSums {
		at := placeOfSums{domain, group}
		if want[at] == nil {
			want[at] = &groupSums{pods: map[types.UID]struct{}{}}
		}
		return want[at]
	}
	done, claimed := map[*workload]int{}, map[*workload]int{}
	groupOf := map[*workload]int{} // the group that selects the workload's pods
	groups := func(namespace string) order.GroupSet { return e.consents.groupsIn(s, namespace) }
	if !s.refused() {
		for _, w := range e.workloads.byUID {
			if group, ok := s.GroupOfTemplate(w.Namespace, labels.Set(w.Labels), groups(w.Namespace)); ok && w.Counts() && !s.PerNode {
				groupOf[w] = group
			}
		}
		for p := range allPods(e) {
			if m, ok := s.place(p, groups(p.Namespace)); ok {
				sumPod(e, p, m, sumsOf, groupOf, done, claimed)
			}
		}
	}
	for w, group := range groupOf {
		sumsOf("", group).demands.Add(readiness.Demand{
			Workload: &w.Workload, Required: s.Groups[group].Required, Condition: s.Groups[group].Condition, SeveralNamespaces: s.Cluster,
			NamedBefore: readiness.NamedBefore(&w.Workload, s.Names(w.Namespace), group),
			Claimed:     claimed[w], Done: done[w], WaitsForNode: waitsForNode(e, w), FailuresOverAt: s.groups[group].failuresOverAt,
		}.Sum(), +1)
	}
	for name, d := range s.domains {
		for i := range s.groups {
			got, sums := d.peek(i), sumsOf(name, i)
			pods := map[types.UID]struct{}{}
			for p := range got.members {
				pods[p.UID] = struct{}{}
			}
			kept := &groupSums{pods, got.sums, got.demands}
			if !reflect.DeepEqual(kept, sums) {
				return fmt.Errorf("group %d on %q: sums are %+v, want %+v", i, name, *kept, *sums)
			}
			// What is not bound satisfies no group on nodes: nobody asks since when.
			ready, counts := readySinceAnew(e, d, i), s.PerNode == d.isNode()
			if got := d.podsReadySince(i); !got.Equal(ready) && counts {
				return fmt.Errorf("group %d on %q: its pods are ready since %s, want %s", i, name, got, ready)
			}
			if got.enough && got.satisfied && ready.After(got.since) && counts {
				return fmt.Errorf("group %d on %q: enough pods are said to be ready since %s, and are since %s", i, name, got.since, ready)
			}
			delete(want, placeOfSums{name, i})
		}
	}
	for at, sums := range want {
		return fmt.Errorf("group %d on %q: there are no sums, want %+v", at.group, at.domain, *sums)
	}
	return nil
}

// readySinceAnew is podsReadySince, worked out from all pods.
func readySinceAnew(e *Engine, d *domain, i int) time.Time {
	s, g := d.sequence, d.sequence.groups[i]
	var times []time.Time
	byDemand := map[*demand][]time.Time{}
	for j := range i + 1 { // a pod that this group names may start with an earlier one
		for p := range d.peek(j).members {
			byName := g.Selector == nil && !d.isNode()
			if (j != i && !byName) || (byName && !g.NamesPod(p.Namespace, p.Name)) || !d.isDone(p, i) {
				continue
			}
			owner := e.workloads.ownerOf(p)
			part := s.demandIn(i, owner.workload)
			switch {
			case d.isNode(), byName, part == nil && !owner.unseen:
				times = append(times, d.countsIn(p, i).since.Time())
			case part != nil && readiness.CountsPods(&part.workload.Workload) && part.workload.IsUpToDate(owner.revision) && part.workload.Wants(p.Pod):
				byDemand[part] = append(byDemand[part], d.countsIn(p, i).since.Time())
			}
		}
	}
	for part := range g.demands {
		ready := byDemand[part]
		if part.workload.Complete && !d.isNode() {
			ready = slices.Repeat([]time.Time{part.workload.CompletedAt}, part.entered.Need)
		}
		slices.SortFunc(ready, time.Time.Compare)
		if part.workload.Kind == inventory.KindDaemonSet && g.Required == v1alpha1.RequireReady && g.Condition == "" {
			ready = ready[max(0, len(ready)-part.entered.Need):]
		}
		times = append(times, ready[:min(part.entered.Need, len(ready))]...)
	}
	needed := len(times)
	if g.MinAvailable != nil {
		needed = min(needed, max(d.need(i).Required, 1))
	}
	if needed == 0 {
		return time.Time{}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times[needed-1]
}

// sumPod adds what one pod gives.
func sumPod(
	e *Engine, p *pod, m membership, sumsOf func(string, int) *groupSums, groupOf, done, claimed map[*workload]int,
) {
	s, name := m.sequence, ""
	required := s.groups[m.group].requirement()
	if s.PerNode {
		name = p.Node
	}
	sums := sumsOf(name, m.group)
	sums.pods[p.UID] = struct{}{}
	if s.PerNode {
		created := (&domain{node: e.nodes.byName[name]}).nodeCreatedAt()
		sums.members.Add(givenNow(s.domainAt(name), p, m.group, readiness.OnNode(p.Pod, required, created)), +1)
		return
	}
	naming := s.Names(p.Namespace)[p.Name]
	for _, i := range naming {
		sumsOf("", i).members.Add(givenNow(s.nodeless, p, i, readiness.Named(p.Pod, s.groups[i].requirement())), +1)
	}
	if p.Reached(required).NodeGone {
		sums.members.NodeGone++
	}
	owner := e.workloads.ownerOf(p)
	group, selected := groupOf[owner.workload]
	upToDate := selected && owner.workload.IsUpToDate(owner.revision)
	if upToDate && group > m.group && readiness.IsClaimed(&owner.workload.Workload, p.Pod, s.Names(p.Namespace), group) {
		claimed[owner.workload]++
	}
	switch readiness.RoleOf(p.Pod, len(naming) > 0 && naming[0] == m.group, selected && group == m.group, owner.unseen) {
	case readiness.RoleOwned:
		if upToDate && s.nodeless.countsIn(p, m.group).ready && owner.workload.Wants(p.Pod) {
			done[owner.workload]++
		}
	case readiness.RoleUnseen:
		sums.members.Add(readiness.UnseenOwner(), +1)
	case readiness.RoleByItself:
		sums.members.Add(givenNow(s.nodeless, p, m.group, readiness.ByItself(p.Pod, required, time.Time{})), +1)
	}
}

// givenNow returns what a member gives to the sums at this time.
func givenNow(d *domain, p *pod, group int, member readiness.Member) readiness.Member {
	member.Ready = member.Ready && d.countsIn(p, group).ready
	return member
}

// TestAnEditKeepsWhatEarlierGroupsHave is about an edit that moves no pod: the sums are inherited, those of claimed pods too.
func TestAnEditKeepsWhatEarlierGroupsHave(t *testing.T) {
	e := newEngine()
	ps := MakeSequence(oracleNamespace, "shop").UID("shop").Pods("One", "web-x").Label("Two", "app", "web").Obj()
	e.ApplySequence(ps)
	e.ApplyWorkload(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: oracleNamespace, Name: "web", UID: "web", ResourceVersion: "2"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(2)), Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}},
		},
	})
	for i, name := range []string{"web-x", "web-y"} {
		pod := makePod(name, strconv.Itoa(3+i)).Label("app", "web").OwnerReference("web", appsv1.SchemeGroupVersion.WithKind("ReplicaSet")).Obj()
		pod.OwnerReferences[0].UID = "web"
		e.ApplyPod(pod)
	}
	expected := func() int {
		report, _ := e.Report(types.NamespacedName{Namespace: oracleNamespace, Name: "shop"})
		return report.Groups[1].Expected
	}
	require.Equal(t, 1, expected(), "the first group has the other pod")
	suspended := ps.DeepCopy()
	suspended.Generation, suspended.ResourceVersion, suspended.Spec.Suspend = 2, "9", true
	e.ApplySequence(suspended)
	assert.Equal(t, 1, expected())
	assert.NoError(t, checkSums(e.Engine))
}

// TestTwoEditsInOneStep is about pods that join by one edit, and are inherited by another before anybody looks at their sums.
func TestTwoEditsInOneStep(t *testing.T) {
	e := newEngine()
	e.ApplyPod(makePod("web", "3").Label("app", "web").Node("n").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj())
	first := MakeSequence(oracleNamespace, "shop").UID("shop").Label("One", "app", "web").Obj()
	second := first.DeepCopy()
	second.Generation, second.ResourceVersion, second.Spec.Suspend = 2, "9", true
	e.ApplySequences([]order.Stored{{PodSequence: first}, {PodSequence: second}})
	report, _ := e.Report(types.NamespacedName{Namespace: oracleNamespace, Name: "shop"})
	assert.Equal(t, 1, report.Groups[0].Expected)
	assert.NoError(t, checkSums(e.Engine))
}

// TestASuspensionInTheStepOfAnotherEditHoldsNothingThatWasReleased is about two edits between which nobody looks how far the groups are.
func TestASuspensionInTheStepOfAnotherEditHoldsNothingThatWasReleased(t *testing.T) {
	e := newEngine()
	e.ApplyPod(makePod("one", "2").Label("app", "one").Node("n").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj())
	two := makePod("two", "3").Label("app", "two").Obj()
	e.ApplyPod(two)
	ps := MakeSequence(oracleNamespace, "shop").UID("shop").Label("One", "app", "one").Label("Two", "app", "two").Obj()
	ps.Generation, ps.ResourceVersion = 1, "4"
	e.ApplySequence(ps)
	require.False(t, e.Decide(two).Held)
	first := ps.DeepCopy()
	first.Generation, first.ResourceVersion, first.Spec.PodGroups[0].Timeout = 2, "8", "10m"
	second := first.DeepCopy()
	second.Generation, second.ResourceVersion, second.Spec.Suspend = 3, "9", true
	e.ApplySequences([]order.Stored{{PodSequence: first}, {PodSequence: second}})
	assert.Empty(t, e.Decide(two).Message())
}

// demandIn is the workload's demand in a group; nil if the group does not select its pods.
func (s *sequence) demandIn(group int, w *workload) *demand {
	if w == nil {
		return nil
	}
	if part := w.demands[s]; part != nil && part.group == group {
		return part
	}
	return nil
}

// allPods are the pods of all namespaces.
func allPods(e *Engine) iter.Seq[*pod] {
	return func(yield func(*pod) bool) {
		for _, ns := range e.namespaces {
			for _, p := range ns.pods {
				if !yield(p) {
					return
				}
			}
		}
	}
}
