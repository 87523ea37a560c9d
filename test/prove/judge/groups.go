package judge

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

type group = v1alpha1.ClusterPodGroup

// inForce reports whether the namespace of the members allows the sequence.
func (f *facts) inForce(s *sequence) bool {
	if s.target == s.meta.Namespace {
		return true
	}
	namespace := f.namespaces[s.target]
	if namespace == nil {
		return false
	}
	for allowed := range strings.SplitSeq(namespace.Annotations[v1alpha1.AllowSequencesFromAnnotation], ",") {
		if allowed = strings.TrimSpace(allowed); allowed == "*" || allowed == s.meta.Namespace {
			return true
		}
	}
	return false
}

// livesIn reports whether members of a group live in a namespace.
func (f *facts) livesIn(g *group, name string) bool {
	if g.NamespaceSelector == nil {
		return slices.Contains(g.Namespaces, name)
	}
	namespace := f.namespaces[name]
	return namespace != nil && name != "kube-system" && name != "podsequence-system" && selects(g.NamespaceSelector, namespace.Labels)
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

// groupOf is the group that a pod belongs to, -1 for none.
func (f *facts) groupOf(s *sequence, pod *corev1.Pod) int {
	return slices.IndexFunc(s.spec.PodGroups, func(g group) bool {
		return f.livesIn(&g, pod.Namespace) && (slices.Contains(g.Pods, pod.Name) || selects(g.PodSelector, pod.Labels))
	})
}

// members are the pods of a group.
func (f *facts) members(s *sequence, index int) []*corev1.Pod {
	var members []*corev1.Pod
	for i := range f.pods {
		if pod := &f.pods[i]; pod.DeletionTimestamp == nil && f.groupOf(s, pod) == index {
			members = append(members, pod)
		}
	}
	return members
}

// workloadsOf are those whose templates a group selects.
func (f *facts) workloadsOf(s *sequence, index int) []*workload {
	var found []*workload
	for i := range f.workloads {
		w := &f.workloads[i]
		first := slices.IndexFunc(s.spec.PodGroups, func(g group) bool {
			return f.livesIn(&g, w.meta.GetNamespace()) && selects(g.PodSelector, w.template.Labels)
		})
		if first == index {
			found = append(found, w)
		}
	}
	return found
}

// reached reports whether a pod is what its group asks for. One on a node that is gone counts for nothing, until somebody deletes it.
func (f *facts) reached(g *group, pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" && !slices.ContainsFunc(f.nodes, func(n corev1.Node) bool { return n.Name == pod.Spec.NodeName }) {
		return false
	}
	if pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	return g.RequiredStatus != v1alpha1.RequireComplete && readySince(pod) != time.Time{}
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

// awaited are the groups that one waits for: those that it depends on and theirs, all before it if it does not say, and none
// that is skipped.
func awaited(s *sequence, index int) []int {
	groups := s.spec.PodGroups
	needed := make([]bool, index)
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
	need(index)
	var waits []int
	for j, is := range needed {
		if is && !groups[j].Skip {
			waits = append(waits, j)
		}
	}
	return waits
}

// open reports whether all groups that one waits for across the cluster are satisfied without doubt.
func (f *facts) open(s *sequence, index int) bool {
	for _, j := range awaited(s, index) {
		if !f.satisfied(s, j) {
			return false
		}
	}
	return true
}

// objectsAreThere reports whether all objects are there that a group waits for: worlds have only Services that must exist.
func (f *facts) objectsAreThere(s *sequence, g *group) bool {
	return !slices.ContainsFunc(g.Objects, func(of v1alpha1.ObjectReference) bool {
		namespace := of.Namespace
		if namespace == "" {
			namespace = s.meta.Namespace
		}
		return of.Kind != "Service" || of.Until != v1alpha1.UntilExists || !f.services[namespace+"/"+of.Name]
	})
}

// isMemberless reports whether a group waits for objects only.
func isMemberless(g *group) bool {
	return len(g.Objects) > 0 && len(g.Pods) == 0 && g.PodSelector == nil
}

// satisfied reports whether a group is satisfied beyond doubt: its objects are there, and its members as they should be.
func (f *facts) satisfied(s *sequence, index int) bool {
	g := &s.spec.PodGroups[index]
	return f.objectsAreThere(s, g) && (isMemberless(g) || f.membersSatisfied(s, index))
}

// membersSatisfied reports whether the members of a group satisfy it beyond doubt: all its workloads say that they have what they want, and each
// member is as it should be.
func (f *facts) membersSatisfied(s *sequence, index int) bool {
	g := &s.spec.PodGroups[index]
	if g.MinAvailable != nil && g.MinAvailable.Type == intstr.Int && g.MinAvailable.IntVal == 0 {
		return true
	}
	if g.PodSelector == nil {
		return f.namesReached(s, g)
	}
	workloads, members := f.workloadsOf(s, index), f.members(s, index)
	if f.hasFailures(s, index) {
		return false
	}
	for _, w := range workloads {
		if !w.settled || g.RequiredStatus == v1alpha1.RequireComplete && w.kind == "Job" && !w.complete {
			return false
		}
	}
	count := 0
	for _, pod := range members {
		ownerless, owner := f.owner(pod)
		switch {
		case !ownerless && owner == nil:
			return false
		case f.reached(g, pod):
			count++
		case pod.Status.Phase != corev1.PodFailed || ownerless:
			return false
		}
	}
	return len(workloads)+len(members) > 0 && count >= least(g)
}

// hasFailures reports whether status says that a member of a group failed and is gone, see expectOfFailures.
func (f *facts) hasFailures(s *sequence, index int) bool {
	return slices.ContainsFunc(s.status.Failures, func(failure v1alpha1.Failure) bool {
		return slices.IndexFunc(s.spec.PodGroups, func(g group) bool {
			return f.livesIn(&g, failure.Namespace) && selects(g.PodSelector, failure.Labels)
		}) == index
	})
}

// least is how many members a group by label needs, whatever its workloads want.
func least(g *group) int {
	if g.MinAvailable != nil && g.MinAvailable.Type == intstr.Int {
		return g.MinAvailable.IntValue()
	}
	return int(g.ExpectedPods)
}

func (f *facts) namesReached(s *sequence, g *group) bool {
	count := 0
	for i := range f.pods {
		pod := &f.pods[i]
		if pod.DeletionTimestamp == nil && f.livesIn(g, pod.Namespace) && slices.Contains(g.Pods, pod.Name) && f.reached(g, pod) {
			count++
		}
	}
	needs := len(g.Pods)
	if g.MinAvailable != nil {
		needs, _ = intstr.GetScaledValueFromIntOrPercent(g.MinAvailable, needs, true)
	}
	return count >= needs
}

// openOn is the same on a node, for a sequence of scope Node.
func (f *facts) openOn(s *sequence, index int, node *corev1.Node) bool {
	if !applies(&s.spec.PodGroups[index], node) {
		return false
	}
	for _, j := range awaited(s, index) {
		if g := &s.spec.PodGroups[j]; applies(g, node) && !f.satisfiedOn(s, j, node) {
			return false
		}
	}
	return true
}

func applies(g *group, node *corev1.Node) bool {
	for key, value := range g.NodeSelector {
		if node.Labels[key] != string(value) {
			return false
		}
	}
	return true
}

// satisfiedOn asks the same on a node.
func (f *facts) satisfiedOn(s *sequence, index int, node *corev1.Node) bool {
	g := &s.spec.PodGroups[index]
	return f.objectsAreThere(s, g) && (isMemberless(g) || f.membersSatisfiedOn(s, index, node))
}

// membersSatisfiedOn asks for a member there, that all members there are as they should be, and have been since the node is there, and
// that each DaemonSet has all pods that it wants anywhere.
func (f *facts) membersSatisfiedOn(s *sequence, index int, node *corev1.Node) bool {
	g := &s.spec.PodGroups[index]
	count := 0
	for _, pod := range f.members(s, index) {
		if pod.Spec.NodeName != node.Name {
			continue
		}
		ownerless, owner := f.owner(pod)
		since := readySince(pod)
		if !f.reached(g, pod) || since.Before(node.CreationTimestamp.Add(time.Second)) || !ownerless && owner == nil {
			return false
		}
		count++
	}
	for _, w := range f.workloadsOf(s, index) {
		if w.kind == "DaemonSet" && !w.settled {
			return false
		}
	}
	return count > 0 && count >= least(g)
}

// takes reports whether nothing about a node is in the way of a pod.
func takes(node *corev1.Node, pod *corev1.Pod) bool {
	if node.Spec.Unschedulable || len(node.Spec.Taints) > 0 || node.DeletionTimestamp != nil {
		return false
	}
	matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && matches
}
