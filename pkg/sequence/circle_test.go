package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
	. "example.com/podsequence/test/harness/builders"
)

// ordered makes a sequence whose groups are pods of these tiers, in this order.
func ordered(name string, tiers ...string) *v1alpha1.PodSequence {
	sequence := MakeSequence(oracleNamespace, name).UID(name)
	for _, tier := range tiers {
		sequence.Label(tier, "tier", tier)
	}
	return sequence.Obj()
}

func keyIn(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: oracleNamespace, Name: name}
}

func TestSequencesThatWaitForEachOther(t *testing.T) {
	type sequences = map[string]*v1alpha1.PodSequence
	edited := func(ps *v1alpha1.PodSequence, edit func(*v1alpha1.PodSequence)) *v1alpha1.PodSequence {
		edit(ps)
		return ps
	}
	pods := func(tiers ...string) []*corev1.Pod {
		var all []*corev1.Pod
		for _, tier := range tiers {
			all = append(all, makePod(tier, "5").Label("tier", tier).Obj())
		}
		return all
	}
	ready := func(tier string) *corev1.Pod {
		return makePod(tier, "5").Label("tier", tier).Node("n").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj()
	}
	tests := map[string]struct {
		sequences sequences
		pods      []*corev1.Pod
		want      []string // the sequences that wait for themselves
	}{
		"two in opposite order":                    {sequences{"a": ordered("a", "x", "y"), "b": ordered("b", "y", "x")}, pods("x", "y"), []string{"a", "b"}},
		"three in a circle":                        {sequences{"a": ordered("a", "x", "y"), "b": ordered("b", "y", "z"), "c": ordered("c", "z", "x")}, pods("x", "y", "z"), []string{"a", "b", "c"}},
		"four in a circle":                         {sequences{"a": ordered("a", "w", "x"), "b": ordered("b", "x", "y"), "c": ordered("c", "y", "z"), "d": ordered("d", "z", "w")}, pods("w", "x", "y", "z"), []string{"a", "b", "c", "d"}},
		"one that waits for a circle is not in it": {sequences{"a": ordered("a", "x", "y"), "b": ordered("b", "y", "x"), "c": ordered("c", "y", "z")}, pods("x", "y", "z"), []string{"a", "b"}},
		"the same order":                           {sequences{"a": ordered("a", "x", "y"), "b": ordered("b", "x", "y")}, pods("x", "y"), nil},
		"pods that are not there yet":              {sequences{"a": ordered("a", "x", "y"), "b": ordered("b", "y", "x")}, pods("x"), nil},
		"what one of them waits for is ready":      {sequences{"a": ordered("a", "x", "y"), "b": ordered("b", "y", "x")}, append(pods("y"), ready("x")), nil},
		"a skipped group": {sequences{"a": ordered("a", "x", "y"),
			"b": edited(ordered("b", "y", "x"), func(ps *v1alpha1.PodSequence) { ps.Spec.PodGroups[0].Skip = true })}, pods("x", "y"), nil},
		"a dry run": {sequences{"a": ordered("a", "x", "y"),
			"b": edited(ordered("b", "y", "x"), func(ps *v1alpha1.PodSequence) { ps.Spec.DryRun = true })}, pods("x", "y"), nil},
		"a suspension, which ends": {sequences{"a": ordered("a", "x", "y"),
			"b": edited(ordered("b", "x", "y"), func(ps *v1alpha1.PodSequence) { ps.Spec.Suspend = true })}, pods("x", "y"), nil},
		"a group that later ones go on without": {sequences{"a": ordered("a", "x", "y"), "b": edited(ordered("b", "y", "x"), func(ps *v1alpha1.PodSequence) {
			ps.Spec.PodGroups[0].Timeout, ps.Spec.PodGroups[0].OnTimeout = "1h", v1alpha1.TimeoutContinue
		})}, pods("x", "y"), nil},
		"a group that can do without the held pod": {sequences{"a": edited(ordered("a", "x", "y"), func(ps *v1alpha1.PodSequence) {
			ps.Spec.PodGroups[0].MinAvailable = new(intstr.FromInt32(1))
			ps.Spec.PodGroups[0].ExpectedPods = 2
		}), "b": ordered("b", "y", "x")}, pods("x", "y"), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			for _, ps := range test.sequences {
				engine.ApplySequence(ps)
			}
			for _, p := range test.pods {
				engine.ApplyPod(p)
			}
			var got []string
			for _, name := range []string{"a", "b", "c", "d"} {
				if circle := engine.Circle(keyIn(name)); len(circle.Others) > 0 {
					got = append(got, name)
				}
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestACircleNamesTheGroupsAndSequences(t *testing.T) {
	engine := newEngine()
	engine.ApplySequence(ordered("a", "x", "y"))
	engine.ApplySequence(ordered("b", "y", "x"))
	engine.ApplyPod(makePod("x", "5").Label("tier", "x").Obj())
	engine.ApplyPod(makePod("y", "5").Label("tier", "y").Obj())
	assert.Equal(t, Circle{
		Problem: order.Problem{Reason: "WaitsForItself", Message: `it waits for itself: group 1/2 "x" has pods that PodSequence shop/b holds until its ` +
			`group 1/2 "y" is ready, which has pods that PodSequence shop/a holds until its group 1/2 "x" is ready; ` +
			`change the order of one of these sequences: this one, PodSequence shop/b`},
		Others: []types.NamespacedName{keyIn("b")},
	}, engine.Circle(keyIn("a")))
	assert.Equal(t, []types.NamespacedName{keyIn("a")}, engine.Circle(keyIn("b")).Others)
	engine.RemoveSequence(keyIn("b"), "9")
	assert.Empty(t, engine.Circle(keyIn("a")))
	assert.Empty(t, engine.Circle(keyIn("b")))
}
