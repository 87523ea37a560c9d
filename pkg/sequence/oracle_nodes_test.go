package sequence

import (
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
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

// onTheWay reports whether the node, closed to group i, will be open to it if all goes well.
func (o *oracle) onTheWay(v *view, i int, node string) bool {
	c := v.courses[node]
	if c.reached[i] {
		return true // only suspended
	}
	for j, g := range v.Spec.PodGroups[:i] {
		if !awaits(v.PodSequence, i, j) || !c.reached[j] || c.passed[j] {
			continue // what waits itself needs not be on the way
		}
		state := c.groups[j]
		failed := c.timedOut[j] && g.OnTimeout != v1alpha1.TimeoutContinue && !state.satisfied
		if (state.expected == 0 && !isEverywhere(g)) || failed {
			return false
		}
	}
	return true
}

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
	coming, _ := o.coming(p)
	return len(coming) > 0 && o.hasTurn(p, coming)
}

// coming are the nodes that are on the way to the pod, which is not pinned; open reports that one is open, and then there are none.
func (o *oracle) coming(p *corev1.Pod) (coming []*corev1.Node, open bool) {
	views := o.nodeViews(p)
	for _, node := range o.nodes {
		switch {
		case !suitable(p, node), o.isNoPlace(p, node):
		case o.mayPlace(p, node.Name):
			return nil, true
		default:
			all := true
			for _, v := range views {
				if i := groupOf(v, p); !o.open(v, i, node.Name) && !o.onTheWay(v, i, node.Name) {
					all = false
				}
			}
			if all {
				coming = append(coming, node)
			}
		}
	}
	return coming, false
}

// isNoPlace reports whether the node has too few devices for the pod, and is none of those for which its drivers are.
func (o *oracle) isNoPlace(p *corev1.Pod, node *corev1.Node) bool {
	short := false
	for _, c := range p.Spec.Containers {
		for name, want := range c.Resources.Requests {
			have := node.Status.Allocatable[name]
			short = short || (v1helper.IsExtendedResourceName(name) && have.Cmp(want) < 0)
		}
	}
	chosen, others := o.driven(p, node)
	return short && node.Status.Allocatable != nil && others && !chosen
}

// driven reports whether the pod waits for groups with a nodeSelector that has this node, and for some whose nodeSelector does not.
func (o *oracle) driven(p *corev1.Pod, node *corev1.Node) (chosen, others bool) {
	for _, v := range o.nodeViews(p) {
		i := groupOf(v, p)
		for j, g := range v.Spec.PodGroups[:i] {
			if len(g.NodeSelector) == 0 || !awaits(v.PodSequence, i, j) {
				continue
			}
			if o.applies(g, node.Name) {
				chosen = true
			} else {
				others = true
			}
		}
	}
	return chosen, others
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

// suitable reports whether the pod could run on the node but for any order.
func suitable(p *corev1.Pod, node *corev1.Node) bool {
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(node); err != nil || !ok {
		return false
	}
	taints := slices.Clone(node.Spec.Taints)
	if node.Spec.Unschedulable {
		taints = append(taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	_, repelled := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), taints, p.Spec.Tolerations,
		func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }, false)
	return !repelled
}
