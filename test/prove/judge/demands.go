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

// demands are what must be so of a world, and is or is not.
type demands struct {
	*facts
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

func scheduled(pod *corev1.Pod) (bool, *corev1.PodCondition) {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionTrue, c
		}
	}
	return false, nil
}

func isTrue(conditions []metav1.Condition, kind string) bool {
	return meta.IsStatusConditionTrue(conditions, kind)
}

// expect asks for all that must be so.
func expect(f *facts) *demands {
	d := &demands{facts: f}
	for i := range d.pods {
		d.ofPod(&d.pods[i])
	}
	for i := range d.sequences {
		d.ofSequence(&d.sequences[i])
	}
	return d
}

func (d *demands) ofPod(pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return
	}
	name := fmt.Sprintf("pod %s/%s (UID %s)", pod.Namespace, pod.Name, pod.UID)
	if why := d.mayRun(pod); why != "" {
		d.ask(pod.Spec.NodeName != "", "%s has no node, but %s", name, why)
	}
	if pod.Spec.NodeName == "" && pod.Spec.SchedulerName == ourScheduler {
		_, condition := scheduled(pod)
		d.ask(condition != nil && condition.Message != "", "%s has no node, and nothing says why", name)
		if named, exists := d.named(pod); named != "" && !exists {
			says := "PodSequence " + pod.Namespace + "/" + named + ", which does not exist"
			d.ask(condition != nil && strings.Contains(condition.Message, says), "%s does not say that it waits for %s", name, says)
		}
	}
}

// mayRun says why a pod must have a node, or nothing if it is not certain that it must.
func (d *demands) mayRun(pod *corev1.Pod) string {
	gated := slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool {
		return g.Name == v1alpha1.DefaultSchedulingGateName
	})
	governed := gated || pod.Spec.SchedulerName == ourScheduler
	named, exists := d.named(pod)
	if governed && named != "" && !exists {
		return ""
	}
	matched := 0
	var onNodes []*sequence
	if governed {
		for i := range d.sequences {
			s := &d.sequences[i]
			index := d.groupOf(s, pod)
			if index < 0 || !d.inForce(s) {
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
			case !d.group(s, index).open():
				return ""
			}
		}
	}
	if gated && matched == 0 && !exists {
		return "" // nobody lifts the gate
	}
	if matched == 0 && pod.Spec.SchedulerName == ourScheduler && d.requires(pod.Namespace) {
		return ""
	}
	for i := range d.nodes {
		node := &d.nodes[i]
		if takes(node, pod) && d.allOpenOn(onNodes, pod, node) {
			return fmt.Sprintf("all groups are ready that it waits for, in %d sequences, and node %s takes it", matched, node.Name)
		}
	}
	return ""
}

func (d *demands) allOpenOn(sequences []*sequence, pod *corev1.Pod, node *corev1.Node) bool {
	for _, s := range sequences {
		if !d.group(s, d.groupOf(s, pod)).openOn(node) {
			return false
		}
	}
	return true
}

// ofSequence asks for what status must say.
func (d *demands) ofSequence(s *sequence) {
	if s.meta.DeletionTimestamp != nil {
		return
	}
	status := &s.status
	d.ask(status.ObservedGeneration == s.meta.Generation, "status of %s is of generation %d, not %d", s, status.ObservedGeneration, s.meta.Generation)
	d.ask(isTrue(status.Conditions, v1alpha1.ConditionSuspended) == s.spec.Suspend, "condition Suspended of %s is wrong: suspend is %t", s, s.spec.Suspend)
	d.ask(isTrue(status.Conditions, v1alpha1.ConditionDryRun) == s.spec.DryRun, "condition DryRun of %s is wrong: dryRun is %t", s, s.spec.DryRun)
	if !d.inForce(s) {
		degraded := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDegraded)
		d.ask(degraded != nil && degraded.Status == metav1.ConditionTrue && degraded.Reason == v1alpha1.ReasonNamespaceNotAllowed,
			"%s does not say that namespace %s does not allow it", s, s.target)
		return
	}
	d.ofFailures(s)
	if s.spec.Scope == v1alpha1.ScopeNode || s.spec.Suspend {
		return
	}
	if d.allSatisfied(s) {
		d.ask(status.Phase == v1alpha1.PhaseCompleted, "%s is %s, but all its groups are ready", s, status.Phase)
		d.ask(ptr.Deref(status.CurrentIndex, -1) == int32(len(s.spec.PodGroups)), "%s is at group %d, but all its groups are ready", s,
			ptr.Deref(status.CurrentIndex, -1))
	}
	if lacking := d.lacksNamed(s); lacking != "" && s.spec.Mode() == v1alpha1.Continuous {
		d.ask(status.Phase != v1alpha1.PhaseCompleted, "%s is %s, but pod %s is not there", s, status.Phase, lacking)
	}
}

// ofFailures asks that no failure outlives a successor of its object: then nobody would ever end it.
func (d *demands) ofFailures(s *sequence) {
	for _, failure := range s.status.Failures {
		succeeded := slices.ContainsFunc(d.workloads, func(w workload) bool {
			return w.kind == failure.Kind && w.meta.GetNamespace() == failure.Namespace && w.meta.GetName() == failure.Name && w.meta.GetUID() != failure.UID
		}) || slices.ContainsFunc(d.pods, func(pod corev1.Pod) bool {
			return failure.Kind == "Pod" && pod.Namespace == failure.Namespace && pod.Name == failure.Name && pod.UID != failure.UID
		})
		d.ask(!succeeded, "%s keeps on record that %s %s/%s failed, which was created again", s, failure.Kind, failure.Namespace, failure.Name)
	}
}

func (d *demands) allSatisfied(s *sequence) bool {
	for i := range s.spec.PodGroups {
		if !d.group(s, i).satisfied() {
			return false
		}
	}
	return true
}

// lacksNamed is a pod that a group names, all of whose pods are needed, and that is not there.
func (d *demands) lacksNamed(s *sequence) string {
	for i := range s.spec.PodGroups {
		g := &s.spec.PodGroups[i]
		if g.Skip || g.MinAvailable != nil || g.Timeout != "" {
			continue
		}
		for _, name := range g.Pods {
			there := slices.ContainsFunc(d.pods, func(pod corev1.Pod) bool { return pod.Name == name && d.livesIn(g, pod.Namespace) })
			if !there {
				return name
			}
		}
	}
	return ""
}
