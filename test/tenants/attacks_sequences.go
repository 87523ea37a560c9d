package main

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/builders"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// maxGroups is how many groups a PodSequence may have.
const maxGroups = 64

// hugeJob makes a group expect a number that nobody checked: a Job that is Complete, so that no pod is ever created for it again,
// is patched to a parallelism of 2147483647, and a PodSequence that selects it is created and edited. A program that allocates or
// counts in proportion to the number ends, and again after each restart.
var hugeJob = attack{
	name: "huge-job",
	prepare: func(ctx context.Context, h *hostile, _ sizes) error {
		labels := map[string]string{"app": "huge"}
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "huge"}}
		job.Spec.Parallelism = new(int32(1))
		job.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()}
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		if err := h.create(ctx, jobKind, job); err != nil {
			return err
		}
		return h.completeJob(ctx, h.namespace, "huge")
	},
	storm: func(ctx context.Context, h *hostile, _ sizes, i int) error {
		switch {
		case i == 0:
			sequence := builders.MakeSequence("", "huge").Label("Huge", "app", "huge").Label("Last", "app", "last").Obj()
			return h.create(ctx, sequenceKind, sequence)
		case i%2 == 1:
			return h.patch(ctx, jobKind, "huge", "/spec/parallelism", 2147483647-i%4)
		}
		return h.patch(ctx, sequenceKind, "huge", "/spec/podGroups/0/name", fmt.Sprintf("huge-%d", i))
	},
}

// farTimeouts makes the programs set alarms that never come up: sequences of 64 groups with time-outs of 1,000 hours, in either
// scope, whose current time-out is changed again and again. A program that keeps old alarms keeps what they belong to.
var farTimeouts = attack{
	name:    "far-timeouts",
	perNode: true,
	prepare: func(ctx context.Context, h *hostile, _ sizes) error {
		for _, scope := range []v1alpha1.Scope{v1alpha1.ScopeCluster, v1alpha1.ScopeNode} {
			sequence := builders.MakeSequence("", farName(scope))
			sequence.Spec.Scope = scope
			for group := range maxGroups {
				sequence.Label("", "far", fmt.Sprint(group)).Timeout("1000h", v1alpha1.TimeoutFail)
			}
			if err := h.create(ctx, sequenceKind, sequence.Obj()); err != nil {
				return err
			}
		}
		return nil
	},
	storm: func(ctx context.Context, h *hostile, _ sizes, i int) error {
		scope := v1alpha1.ScopeCluster
		if i%2 == 1 {
			scope = v1alpha1.ScopeNode
		}
		return h.patch(ctx, sequenceKind, farName(scope), "/spec/podGroups/0/timeout", fmt.Sprintf("%dh", 1000+i))
	},
}

func farName(scope v1alpha1.Scope) string {
	if scope == v1alpha1.ScopeNode {
		return "far-node"
	}
	return "far-cluster"
}

// nodeDomains makes the programs keep a state of each of 64 groups on each node, although no pod of any group exists:
// PodSequences of Node scope that match nothing. Edits make them build it again.
var nodeDomains = attack{
	name:    "node-domains",
	perNode: true,
	prepare: func(ctx context.Context, h *hostile, s sizes) error {
		return eachAtOnce(ctx, nodeSequences(s), func(ctx context.Context, i int) error {
			sequence := builders.MakeSequence("", fmt.Sprintf("domains-%d", i)).NodeScope()
			for group := range maxGroups {
				sequence.Label("", "nothing", fmt.Sprintf("%d-%d", i, group))
			}
			return h.create(ctx, sequenceKind, sequence.Obj())
		})
	},
	storm: func(ctx context.Context, h *hostile, s sizes, i int) error {
		name := fmt.Sprintf("domains-%d", i%nodeSequences(s))
		return h.patch(ctx, sequenceKind, name, "/spec/podGroups/0/podSelector/matchLabels/nothing", fmt.Sprint(i))
	},
}

// nodeSequences is few, for each took as many as 64 groups times 1,000 nodes of memory.
func nodeSequences(s sizes) int { return max(1, s.sequences/10) }

// crowdedNamespace makes every change dear: many pods that are held, and many PodSequences in their namespace, each with
// groups whose selectors are long and match all of them only at the last. Edits of sequences, new sequences and new pods
// make the programs match each pod with each sequence again.
var crowdedNamespace = attack{
	name: "crowded-namespace",
	aims: []measure{creation},
	prepare: func(ctx context.Context, h *hostile, s sizes) error {
		err := eachAtOnce(ctx, s.sequences, func(ctx context.Context, i int) error {
			return h.create(ctx, sequenceKind, crowdedSequence(fmt.Sprintf("crowd-%d", i)))
		})
		if err != nil {
			return err
		}
		return eachAtOnce(ctx, s.pods, func(ctx context.Context, i int) error {
			return h.create(ctx, podKind, h.crowdedPod(fmt.Sprintf("crowd-%d", i)))
		})
	},
	storm: func(ctx context.Context, h *hostile, s sizes, i int) error {
		name := fmt.Sprintf("crowd-%d", i/4%s.sequences)
		pod := fmt.Sprintf("crowd-%d", i/4%s.pods)
		switch i % 4 {
		case 0:
			return h.patch(ctx, sequenceKind, name, "/spec/podGroups/0/name", fmt.Sprintf("group-%d", i))
		case 1:
			return h.remove(ctx, podKind, pod)
		case 2:
			return h.create(ctx, podKind, h.crowdedPod(fmt.Sprintf("late-%d", i)))
		default:
			return h.create(ctx, sequenceKind, crowdedSequence(fmt.Sprintf("late-%d", i)))
		}
	},
}

func (h *hostile) crowdedPod(name string) *corev1.Pod {
	pod := unscheduled(name, map[string]string{"app": "crowd"})
	if !h.decoy { // nobody would hold it
		pod.Spec.SchedulerName = controlplane.PodSequenceScheduler
	}
	return pod
}

// crowdedSequence holds every pod of its namespace: the group that all wait for is a pod that never exists.
func crowdedSequence(name string) *v1alpha1.PodSequence {
	const groups, expressions = 8, 16
	sequence := builders.MakeSequence("", name).Pods("Never", "never")
	for range groups {
		sequence.Expression("", "last", v1alpha1.LabelSelectorOpExists)
		selector := sequence.Spec.PodGroups[len(sequence.Spec.PodGroups)-1].PodSelector
		requirement := v1alpha1.LabelSelectorRequirement{Key: "app", Operator: v1alpha1.LabelSelectorOpNotIn, Values: []v1alpha1.LabelValue{"x", "y", "z"}}
		for range expressions {
			selector.MatchExpressions = append([]v1alpha1.LabelSelectorRequirement{requirement}, selector.MatchExpressions...)
		}
	}
	return sequence.Label("Everything", "", "").Obj()
}

// unscheduled is a pod of a scheduler that does not exist.
func unscheduled(name string, labels map[string]string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: podSpec()}
	pod.Spec.SchedulerName = "nobody"
	return pod
}
