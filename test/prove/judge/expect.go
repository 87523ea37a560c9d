package judge

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

const ourScheduler = "podsequence-scheduler"

// demands are what must be so, and is or is not.
type demands struct {
	asked int
	// broken are sentences that are the same as long as the same is wrong.
	broken []string
}

func (d *demands) ask(fulfilled bool, format string, args ...any) {
	d.asked++
	if !fulfilled {
		d.broken = append(d.broken, fmt.Sprintf(format, args...))
	}
}

// expect asks for all that must be so.
func (f *facts) expect() *demands {
	d := &demands{}
	for i := range f.pods {
		f.expectOfPod(d, &f.pods[i])
	}
	for i := range f.sequences {
		f.expectOfSequence(d, &f.sequences[i])
	}
	return d
}

func (f *facts) expectOfPod(d *demands, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return
	}
	name := fmt.Sprintf("pod %s/%s (UID %s)", pod.Namespace, pod.Name, pod.UID)
	if why := f.mayRun(pod); why != "" {
		d.ask(pod.Spec.NodeName != "", "%s has no node, but %s", name, why)
	}
	if pod.Spec.NodeName == "" && pod.Spec.SchedulerName == ourScheduler {
		_, condition := scheduled(pod)
		d.ask(condition != nil && condition.Message != "", "%s has no node, and nothing says why", name)
		if named, exists := f.named(pod); named != "" && !exists {
			says := "PodSequence " + pod.Namespace + "/" + named + ", which does not exist"
			d.ask(condition != nil && strings.Contains(condition.Message, says), "%s does not say that it waits for %s", name, says)
		}
	}
}

// named is the PodSequence that a pod names, and whether there is one.
func (f *facts) named(pod *corev1.Pod) (name string, exists bool) {
	name = pod.Labels[v1alpha1.SequenceLabel]
	exists = slices.ContainsFunc(f.sequences, func(s sequence) bool {
		return s.kind == "PodSequence" && s.meta.Namespace == pod.Namespace && s.meta.Name == name
	})
	return name, exists
}

// requires reports whether pods of our scheduler need a sequence in a namespace.
func (f *facts) requires(namespace string) bool {
	n := f.namespaces[namespace]
	return n != nil && n.Annotations[v1alpha1.RequireSequenceAnnotation] == v1alpha1.RequireSequence
}

func scheduled(pod *corev1.Pod) (bool, *corev1.PodCondition) {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionTrue, c
		}
	}
	return false, nil
}

// mayRun says why a pod must have a node, or nothing if it is not certain that it must.
func (f *facts) mayRun(pod *corev1.Pod) string {
	gated := slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool {
		return g.Name == v1alpha1.DefaultSchedulingGateName
	})
	governed := gated || pod.Spec.SchedulerName == ourScheduler
	named, exists := f.named(pod)
	if governed && named != "" && !exists {
		return ""
	}
	matched := 0
	var onNodes []*sequence
	if governed {
		for i := range f.sequences {
			s := &f.sequences[i]
			index := f.groupOf(s, pod)
			if index < 0 || !f.inForce(s) {
				continue
			}
			matched++
			switch {
			case s.spec.Scope == v1alpha1.ScopeNode && pod.Spec.SchedulerName != ourScheduler:
				return "" // it stays gated
			case s.spec.Suspend:
				return ""
			case s.spec.DryRun:
			case s.spec.Scope == v1alpha1.ScopeNode:
				onNodes = append(onNodes, s)
			case !f.open(s, index):
				return ""
			}
		}
	}
	if gated && matched == 0 && !exists {
		return "" // nobody lifts the gate
	}
	if matched == 0 && pod.Spec.SchedulerName == ourScheduler && f.requires(pod.Namespace) {
		return ""
	}
	for i := range f.nodes {
		node := &f.nodes[i]
		if takes(node, pod) && f.allOpenOn(onNodes, pod, node) {
			return fmt.Sprintf("all groups are ready that it waits for, in %d sequences, and node %s takes it", matched, node.Name)
		}
	}
	return ""
}

func (f *facts) allOpenOn(sequences []*sequence, pod *corev1.Pod, node *corev1.Node) bool {
	for _, s := range sequences {
		if !f.openOn(s, f.groupOf(s, pod), node) {
			return false
		}
	}
	return true
}

// expectOfSequence asks for what status must say.
func (f *facts) expectOfSequence(d *demands, s *sequence) {
	if s.meta.DeletionTimestamp != nil {
		return
	}
	status := &s.status
	d.ask(status.ObservedGeneration == s.meta.Generation, "status of %s is of generation %d, not %d", s, status.ObservedGeneration, s.meta.Generation)
	d.ask(isTrue(status.Conditions, v1alpha1.ConditionSuspended) == s.spec.Suspend, "condition Suspended of %s is wrong: suspend is %t", s, s.spec.Suspend)
	d.ask(isTrue(status.Conditions, v1alpha1.ConditionDryRun) == s.spec.DryRun, "condition DryRun of %s is wrong: dryRun is %t", s, s.spec.DryRun)
	if !f.inForce(s) {
		degraded := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDegraded)
		d.ask(degraded != nil && degraded.Status == metav1.ConditionTrue && degraded.Reason == v1alpha1.ReasonNamespaceNotAllowed,
			"%s does not say that namespace %s does not allow it", s, s.target)
		return
	}
	f.expectOfFailures(d, s)
	if s.spec.Scope == v1alpha1.ScopeNode || s.spec.Suspend {
		return
	}
	if f.allSatisfied(s) {
		d.ask(status.Phase == v1alpha1.PhaseCompleted, "%s is %s, but all its groups are ready", s, status.Phase)
		d.ask(ptr.Deref(status.CurrentIndex, -1) == int32(len(s.spec.PodGroups)), "%s is at group %d, but all its groups are ready", s,
			ptr.Deref(status.CurrentIndex, -1))
	}
	if lacking := f.lacksNamed(s); lacking != "" && s.spec.Mode() == v1alpha1.Continuous {
		d.ask(status.Phase != v1alpha1.PhaseCompleted, "%s is %s, but pod %s is not there", s, status.Phase, lacking)
	}
}

// expectOfFailures asks that no failure outlives a successor of its object: then nobody would ever end it.
func (f *facts) expectOfFailures(d *demands, s *sequence) {
	for _, failure := range s.status.Failures {
		succeeded := slices.ContainsFunc(f.workloads, func(w workload) bool {
			return w.kind == failure.Kind && w.meta.GetNamespace() == failure.Namespace && w.meta.GetName() == failure.Name && w.meta.GetUID() != failure.UID
		}) || slices.ContainsFunc(f.pods, func(pod corev1.Pod) bool {
			return failure.Kind == "Pod" && pod.Namespace == failure.Namespace && pod.Name == failure.Name && pod.UID != failure.UID
		})
		d.ask(!succeeded, "%s keeps on record that %s %s/%s failed, which was created again", s, failure.Kind, failure.Namespace, failure.Name)
	}
}

func isTrue(conditions []metav1.Condition, kind string) bool {
	return meta.IsStatusConditionTrue(conditions, kind)
}

func (f *facts) allSatisfied(s *sequence) bool {
	for i := range s.spec.PodGroups {
		if !f.satisfied(s, i) {
			return false
		}
	}
	return true
}

// lacksNamed is a pod that a group names, all of whose pods are needed, and that is not there.
func (f *facts) lacksNamed(s *sequence) string {
	for i := range s.spec.PodGroups {
		g := &s.spec.PodGroups[i]
		if g.Skip || g.MinAvailable != nil || g.Timeout != "" {
			continue
		}
		for _, name := range g.Pods {
			there := slices.ContainsFunc(f.pods, func(pod corev1.Pod) bool { return pod.Name == name && f.livesIn(g, pod.Namespace) })
			if !there {
				return name
			}
		}
	}
	return ""
}
