package sequence

import (
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// countOnNode is what group i has on a node.
func (o *oracle) countOnNode(v *view, i int, node string) groupCount {
	g := v.Spec.PodGroups[i]
	if !makesSense(g) {
		return groupCount{}
	}
	c := groupCount{times: map[string]time.Time{}}
	members := 0
	for _, p := range o.pods {
		if in, member := v.groupOf[oracleKey(p)]; !member || in != i || p.Spec.NodeName != node {
			continue
		}
		if endOf(p) == corev1.PodFailed && metav1.GetControllerOf(p) != nil && !oracleIsStatic(p) {
			continue // it is replaced
		}
		members++
		ok, at := o.done(p, g)
		_, saidAt := saysReached(p, g)
		if now := o.node(node); now != nil && p.CreationTimestamp.Before(&now.CreationTimestamp) && saidAt.Before(now.CreationTimestamp.Time) {
			continue // it was ready on another node of that name
		}
		if ok {
			c.ready++
			c.times[string(p.UID)] = at
			c.needed = append(c.needed, at)
		}
	}
	missing := o.missing(v, i, node)
	if c.expected = members + missing; c.expected > 0 && len(g.Pods) == 0 {
		c.expected = max(c.expected, int(g.ExpectedPods))
	}

	going := slices.ContainsFunc(o.due(v, i, node), func(ds *appsv1.DaemonSet) bool {
		return ds.DeletionTimestamp != nil || (v.cluster != nil && o.namespaceGoes(ds))
	})
	switch {
	case going && !needsNone(g):
	case g.MinAvailable == nil:
		c.satisfied = members > 0 && c.ready == members && missing == 0 && c.ready >= c.expected
		c.enough = math.MaxInt
	case g.MinAvailable.Type == intstr.Int:
		c.enough = g.MinAvailable.IntValue()
		c.satisfied = c.ready >= c.enough
	default:
		c.enough = percentOf(g.MinAvailable, c.expected)
		c.satisfied = c.expected > 0 && c.ready >= c.enough
	}
	return c
}

// missing is the number of DaemonSets of group i that should run on the node and have no pod there.
func (o *oracle) missing(v *view, i int, node string) int {
	missing := 0
	for _, ds := range o.due(v, i, node) {
		if !slices.ContainsFunc(o.pods, func(p *corev1.Pod) bool {
			return p.DeletionTimestamp == nil && endOf(p) != corev1.PodFailed && p.Spec.NodeName == node && metav1.IsControlledBy(p, ds)
		}) {
			missing++
		}
	}
	return missing
}

// pairing is a node and a DaemonSet, in versions that never change.
type pairing struct {
	*corev1.Node
	*appsv1.DaemonSet
}

// due are the DaemonSets of group i that should run on the node.
func (o *oracle) due(v *view, i int, name string) []*appsv1.DaemonSet {
	node := o.node(name)
	if node == nil {
		return nil
	}
	var due []*appsv1.DaemonSet
	for _, ds := range all[*appsv1.DaemonSet](o, "DaemonSet") {
		if in, placed := v.placedIn[ds.UID]; placed && in == i {
			run, known := o.shouldRun[pairing{node, ds}]
			if !known {
				run, _ = daemon.NodeShouldRunDaemonPod(klog.Background(), node, ds)
				o.shouldRun[pairing{node, ds}] = run
			}
			if run {
				due = append(due, ds)
			}
		}
	}
	return due
}

// applies reports whether the group applies to the node.
func (o *oracle) applies(g v1alpha1.PodGroup, name string) bool {
	node := o.node(name)
	for key, value := range g.NodeSelector {
		if node == nil || node.Labels[key] != string(value) {
			return false
		}
	}
	return true
}

// nodeViews are the sequences of scope Node that the pod belongs to.
func (o *oracle) nodeViews(p *corev1.Pod) []*view {
	var views []*view
	for _, v := range o.views {
		if v.Spec.Scope == v1alpha1.ScopeNode && !onlySays(v) && groupOf(v, p) >= 0 {
			views = append(views, v)
		}
	}
	return views
}

// open reports whether a pod of the sequence's group i may be placed on the node.
func (o *oracle) open(v *view, i int, node string) bool {
	if o.node(node) == nil {
		return waitsForNone(v.PodSequence, i) && !v.Spec.Suspend
	}
	return v.courses[node].mayStart(i)
}

// mayPlace reports whether every sequence lets the pod be placed on the node.
func (o *oracle) mayPlace(p *corev1.Pod, node string) bool {
	for _, v := range o.nodeViews(p) {
		if !o.open(v, groupOf(v, p), node) {
			return false
		}
	}
	return true
}

// heldByNodes reports whether the pod must wait because no node is open to it: only one that is pinned does, and any other is tried.
func (o *oracle) heldByNodes(p *corev1.Pod) bool {
	views := o.nodeViews(p)
	if p.Spec.SchedulerName != oracleScheduler {
		return slices.ContainsFunc(views, func(v *view) bool { return carries(p, v.PodSequence) })
	}
	if !slices.ContainsFunc(views, func(v *view) bool {
		return !waitsForNone(v.PodSequence, groupOf(v, p)) || v.Spec.Suspend
	}) {
		return false
	}
	if names, pinned := o.pinnedTo(p); pinned {
		return !slices.ContainsFunc(names, func(name string) bool { return o.mayPlace(p, name) })
	}
	return false
}

// pinnedTo are the nodes that the pod is pinned to, if it is.
func (o *oracle) pinnedTo(p *corev1.Pod) (names []string, pinned bool) {
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil &&
		a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		pinned = true
		only := ""
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			found := ""
			for _, f := range term.MatchFields {
				if f.Key == metav1.ObjectNameField && f.Operator == corev1.NodeSelectorOpIn && len(f.Values) == 1 {
					found = f.Values[0]
				}
			}
			if found == "" || (only != "" && only != found) {
				pinned = false
			}
			only = found
		}
		if pinned {
			return []string{only}, true
		}
	}
	host, ok := p.Spec.NodeSelector[corev1.LabelHostname]
	if !ok {
		return nil, false
	}
	for _, node := range o.nodes {
		if node.Labels[corev1.LabelHostname] == host {
			names = append(names, node.Name)
		}
	}
	return names, true
}

// mayAsk reports whether the pod does not ask for another node.
func (o *oracle) mayAsk(p *corev1.Pod, node string) bool {
	names, pinned := o.pinnedTo(p)
	return !pinned || slices.Contains(names, node)
}
