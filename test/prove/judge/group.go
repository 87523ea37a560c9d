package judge

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// group is a group of a sequence, among all objects of its world.
type group struct {
	*v1alpha1.ClusterPodGroup
	*facts
	of    *sequence
	index int
}

// members are its pods.
func (g group) members() []*corev1.Pod {
	var members []*corev1.Pod
	for i := range g.pods {
		if pod := &g.pods[i]; pod.DeletionTimestamp == nil && g.groupOf(g.of, pod) == g.index {
			members = append(members, pod)
		}
	}
	return members
}

// ownWorkloads are those whose templates it selects.
func (g group) ownWorkloads() []*workload {
	var found []*workload
	for i := range g.workloads {
		w := &g.workloads[i]
		first := slices.IndexFunc(g.of.spec.PodGroups, func(other v1alpha1.ClusterPodGroup) bool {
			return g.livesIn(&other, w.meta.GetNamespace()) && selects(other.PodSelector, w.template.Labels)
		})
		if first == g.index {
			found = append(found, w)
		}
	}
	return found
}

// reached reports whether a pod is what the group asks for. One on a node that is gone counts for nothing, until somebody deletes it.
func (g group) reached(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" && !slices.ContainsFunc(g.nodes, func(n corev1.Node) bool { return n.Name == pod.Spec.NodeName }) {
		return false
	}
	if pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	return g.RequiredStatus != v1alpha1.RequireComplete && readySince(pod) != time.Time{}
}

// awaited are the groups that it waits for: those that it depends on and theirs, all before it if it does not say, and none
// that is skipped.
func (g group) awaited() []group {
	groups := g.of.spec.PodGroups
	needed := make([]bool, g.index)
	var need func(int)
	need = func(i int) {
		for j := range i {
			depends := groups[i].DependsOn == nil || slices.Contains(groups[i].DependsOn, groups[j].Name)
			if depends && !needed[j] {
				needed[j] = true
				need(j)
			}
		}
	}
	need(g.index)
	var waits []group
	for j, is := range needed {
		if is && !groups[j].Skip {
			waits = append(waits, g.group(g.of, j))
		}
	}
	return waits
}

// open reports whether all groups that it waits for across the cluster are satisfied without doubt.
func (g group) open() bool {
	for _, other := range g.awaited() {
		if !other.satisfied() {
			return false
		}
	}
	return true
}

// satisfied reports whether it is satisfied beyond doubt: its objects are there, and its members as they should be.
func (g group) satisfied() bool {
	return g.objectsAreThere() && (g.isMemberless() || g.membersSatisfied())
}

// objectsAreThere reports whether all objects are there that it waits for: worlds have only Services that must exist.
func (g group) objectsAreThere() bool {
	return !slices.ContainsFunc(g.Objects, func(of v1alpha1.ObjectReference) bool {
		namespace := of.Namespace
		if namespace == "" {
			namespace = g.of.meta.Namespace
		}
		return of.Kind != "Service" || of.Until != v1alpha1.UntilExists || !g.services[namespace+"/"+of.Name]
	})
}

// isMemberless reports whether it waits for objects only.
func (g group) isMemberless() bool {
	return len(g.Objects) > 0 && len(g.Pods) == 0 && g.PodSelector == nil
}

// membersSatisfied reports whether its members satisfy it beyond doubt: all its workloads say that they have what they want, and each
// member is as it should be.
func (g group) membersSatisfied() bool {
	if g.MinAvailable != nil && g.MinAvailable.Type == intstr.Int && g.MinAvailable.IntVal == 0 {
		return true
	}
	if g.PodSelector == nil {
		return g.namesReached()
	}
	workloads, members := g.ownWorkloads(), g.members()
	if g.hasFailures() {
		return false
	}
	for _, w := range workloads {
		if !w.settled || g.RequiredStatus == v1alpha1.RequireComplete && w.kind == "Job" && !w.complete {
			return false
		}
	}
	count := 0
	for _, pod := range members {
		ownerless, owner := g.owner(pod)
		switch {
		case !ownerless && owner == nil:
			return false
		case g.reached(pod):
			count++
		case pod.Status.Phase != corev1.PodFailed || ownerless:
			return false
		}
	}
	return len(workloads)+len(members) > 0 && count >= g.least()
}

// hasFailures reports whether status says that a member failed and is gone, see demands.ofFailures.
func (g group) hasFailures() bool {
	return slices.ContainsFunc(g.of.status.Failures, func(failure v1alpha1.Failure) bool {
		return slices.IndexFunc(g.of.spec.PodGroups, func(other v1alpha1.ClusterPodGroup) bool {
			return g.livesIn(&other, failure.Namespace) && selects(other.PodSelector, failure.Labels)
		}) == g.index
	})
}

// least is how many members a group by label needs, whatever its workloads want.
func (g group) least() int {
	if g.MinAvailable != nil && g.MinAvailable.Type == intstr.Int {
		return g.MinAvailable.IntValue()
	}
	return int(g.ExpectedPods)
}

func (g group) namesReached() bool {
	count := 0
	for i := range g.pods {
		pod := &g.pods[i]
		if pod.DeletionTimestamp == nil && g.livesIn(g.ClusterPodGroup, pod.Namespace) && slices.Contains(g.Pods, pod.Name) && g.reached(pod) {
			count++
		}
	}
	needs := len(g.Pods)
	if g.MinAvailable != nil {
		needs, _ = intstr.GetScaledValueFromIntOrPercent(g.MinAvailable, needs, true)
	}
	return count >= needs
}

// openOn reports whether a group is open on a node, for a sequence of scope Node.
func (g group) openOn(node *corev1.Node) bool {
	if !g.applies(node) {
		return false
	}
	for _, other := range g.awaited() {
		if other.applies(node) && !other.satisfiedOn(node) {
			return false
		}
	}
	return true
}

func (g group) applies(node *corev1.Node) bool {
	for key, value := range g.NodeSelector {
		if node.Labels[key] != string(value) {
			return false
		}
	}
	return true
}

// satisfiedOn reports whether it is satisfied on a node beyond doubt.
func (g group) satisfiedOn(node *corev1.Node) bool {
	return g.objectsAreThere() && (g.isMemberless() || g.membersSatisfiedOn(node))
}

// membersSatisfiedOn asks for a member there, that all members there are as they should be, and have been since the node is there, and
// that each DaemonSet has all pods that it wants anywhere.
func (g group) membersSatisfiedOn(node *corev1.Node) bool {
	count := 0
	for _, pod := range g.members() {
		if pod.Spec.NodeName != node.Name {
			continue
		}
		ownerless, owner := g.owner(pod)
		since := readySince(pod)
		if !g.reached(pod) || since.Before(node.CreationTimestamp.Add(time.Second)) || !ownerless && owner == nil {
			return false
		}
		count++
	}
	for _, w := range g.ownWorkloads() {
		if w.kind == "DaemonSet" && !w.settled {
			return false
		}
	}
	return count > 0 && count >= g.least()
}

func selects(selector *v1alpha1.LabelSelector, of map[string]string) bool {
	if selector == nil {
		return false
	}
	plain := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for key, value := range selector.MatchLabels {
		plain.MatchLabels[key] = string(value)
	}
	compiled, err := metav1.LabelSelectorAsSelector(plain) // worlds have no expressions
	return err == nil && len(selector.MatchExpressions) == 0 && compiled.Matches(labels.Set(of))
}

// readySince is when a pod turned ready; zero if it is not.
func readySince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.Status.Phase != corev1.PodFailed {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// takes reports whether nothing about a node is in the way of a pod.
func takes(node *corev1.Node, pod *corev1.Pod) bool {
	if node.Spec.Unschedulable || len(node.Spec.Taints) > 0 || node.DeletionTimestamp != nil {
		return false
	}
	matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && matches
}
