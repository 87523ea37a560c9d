package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	. "example.com/podsequence/test/harness/builders"
)

func TestWhatTurnsReadyIsConfirmed(t *testing.T) {
	const making = "checking that no change was missed"
	tests := map[string]func(d confirming){
		"a group is passed when nothing is missing up to what made it ready": func(d confirming) {
			d.expect(d.ApplyPod(db("db-0", "10")), about("10"))
			d.expectHeld(app("app", "3"), making)
			report, _ := d.Report(types.NamespacedName{Namespace: oracleNamespace, Name: "shop"})
			assert.True(d, report.Confirming())
			d.expect(d.confirm("10"), nil, "app")
			report, _ = d.Report(types.NamespacedName{Namespace: oracleNamespace, Name: "shop"})
			assert.False(d, report.Confirming())
		},
		"an answer about an earlier version raises the question again": func(d confirming) {
			d.ApplyPod(db("db-0", "10"))
			d.expect(d.confirm("9"), about("10"))
			d.expectHeld(app("app", "3"), making)
		},
		"a change that was missing keeps the group": func(d confirming) {
			d.ApplyPod(db("db-0", "10"))
			d.expect(d.ApplyWorkload(statefulSet(2, "8")), nil)
			d.expect(d.confirm("10"), nil)
			d.expectHeld(app("app", "3"), "1 of 2 pods ready")
			d.expect(d.ApplyPod(db("db-1", "12")), about("12"))
			d.expect(d.confirm("12"), nil, "app")
		},
		"pods that only add to what is enough are not waited for": func(d confirming) {
			d.ApplyPod(db("db-0", "10"))
			d.ApplyPod(db("db-1", "11"))
			d.expect(d.confirm("10"), nil, "app")
		},
		"a sequence that is gone leaves no question": func(d confirming) {
			d.ApplyPod(db("db-0", "10"))
			d.RemoveSequence(types.NamespacedName{Namespace: oracleNamespace, Name: "shop"}, "11")
			d.expect(d.confirm("11"), nil)
			assert.False(d, d.Decide(app("app", "3")).Held)
		},
	}
	for name, story := range tests {
		for _, mode := range []v1alpha1.EnforcementMode{v1alpha1.BootstrapOnly, v1alpha1.Continuous} {
			t.Run(name+", "+string(mode), func(t *testing.T) { story(newConfirming(t, mode)) })
		}
	}
}

func TestAWaitThatIsOverIsConfirmed(t *testing.T) {
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	wait := func(t *testing.T) confirming {
		d := newEmptyConfirming(t)
		d.Tick(begin)
		d.ApplyWorkload(statefulSet(1, "2"))
		d.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("db", "tier", "db").Wait("10s").Label("app", "tier", "app").Obj())
		d.ApplyPod(app("app", "3"))
		d.expect(d.ApplyPod(db("db-0", "10")), about("10"))
		d.expect(d.confirm("10"), nil)
		return d
	}
	t.Run("if anything was told since it began", func(t *testing.T) {
		d := wait(t)
		d.ApplyPod(db("db-1", "20"))
		d.expect(d.Tick(d.NextWake()), about("20"))
		d.expect(d.ApplyWorkload(statefulSet(2, "15")), about("20"))
		d.expect(d.confirm("20"), nil, "app")
	})
	t.Run("so that what was missing holds the group", func(t *testing.T) {
		d := wait(t)
		d.ApplyPod(app("another", "20"))
		d.expect(d.Tick(d.NextWake()), about("20"))
		d.ApplyWorkload(statefulSet(2, "15"))
		d.expect(d.confirm("20"), nil)
		d.expectHeld(app("app", "3"), "1 of 2 pods ready")
	})
	t.Run("and is over at once if nothing was", func(t *testing.T) {
		d := wait(t)
		d.expect(d.Tick(d.NextWake()), nil, "app")
	})
}

// Here the watch of one kind is ahead of that of another.
func TestWhatIsConfirmedIsConfirmedAgain(t *testing.T) {
	t.Run("when what is needed changes", func(t *testing.T) {
		d := newEmptyConfirming(t)
		d.ApplyWorkload(statefulSet(2, "2"))
		d.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").
			Label("first", "tier", "first").Label("db", "tier", "db").Label("app", "tier", "app").Obj())
		d.ApplyPod(app("app", "3"))
		first := makePod("first", "5").Label("tier", "first").Node("node")
		d.ApplyPod(first.Obj())
		d.Confirm(Subject{Namespace: oracleNamespace, Kinds: OfWorkloads}, d.Moment())
		for _, pod := range []*corev1.Pod{db("db-0", "10"), db("db-1", "11")} {
			pod.Spec.SchedulerName = "another" // that it is bound proves nothing
			d.ApplyPod(pod)
		}
		// db-1 breaks at 45, first is ready at 50, db-0 breaks at 55, and at 60 one is enough. At no time is all ready. That
		// db-0 breaks is told last.
		d.ApplyWorkload(statefulSet(1, "60"))
		one := broken("db-1", "45")
		one.Spec.SchedulerName = "another"
		d.ApplyPod(one)
		d.ApplyPod(makePod("first", "50").Label("tier", "first").Node("node").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj())
		d.expect(d.ApplyPod(broken("db-0", "55")), about("60"))
		d.expect(d.confirm("60"), nil)
		d.expectHeld(app("app", "3"), `"db"`)
	})
	for _, mode := range []v1alpha1.EnforcementMode{v1alpha1.BootstrapOnly, v1alpha1.Continuous} {
		t.Run("when a list tells that something is gone, "+string(mode), func(t *testing.T) {
			d := newConfirming(t, mode)
			other := statefulSet(1, "4")
			other.Name, other.UID = "other", "other"
			d.ApplyWorkload(other)
			d.ApplyPod(db("db-0", "10"))
			d.Confirm(Subject{Namespace: oracleNamespace, Kinds: OfWorkloads}, d.Moment())
			d.expect(d.ReplaceWorkloads(inventory.KindStatefulSet, []metav1.Object{statefulSet(1, "2")}, "25"), about("25"))
		})
	}
	t.Run("when an edit of the mode makes its pass permanent", func(t *testing.T) {
		d := newConfirming(t, v1alpha1.Continuous)
		d.ApplyPod(db("db-0", "10"))
		d.expect(d.confirm("10"), nil, "app")
		permanent := MakeSequence(oracleNamespace, "shop").UID("shop").Generation(2).Label("db", "tier", "db").Label("app", "tier", "app").
			Mode(v1alpha1.BootstrapOnly).Obj()
		permanent.ResourceVersion = "20"
		d.expect(d.note("20", d.ApplySequence(permanent)), about("20"))
		d.ApplyWorkload(statefulSet(2, "15"))
		d.expect(d.confirm("20"), nil)
		d.expectHeld(app("app", "3"), "1 of 2 pods ready")
	})
	t.Run("when a list may hide that it broke", func(t *testing.T) {
		d := newConfirming(t, v1alpha1.Continuous)
		d.ApplyPod(db("db-0", "10"))
		d.confirm("10")
		d.expect(d.ReplacePods([]*corev1.Pod{app("app", "3"), db("db-0", "16"), app("late", "14")}, "20"), about("20"))
		d.expect(d.confirm("20"), nil, "app", "late")
	})
	t.Run("but not when a pod only adds to it", func(t *testing.T) {
		d := newConfirming(t, v1alpha1.Continuous)
		d.ApplyPod(db("db-0", "10"))
		d.confirm("10")
		d.expect(d.ApplyPod(db("db-1", "20")), nil)
		assert.False(t, d.Decide(app("app", "3")).Held)
	})
}

func TestOnlyWhatMattersIsAskedAbout(t *testing.T) {
	ready := func(name, version string) *corev1.Pod {
		return makePod(name, version).Label("tier", "db").Node("node").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj()
	}
	node := &corev1.Node{}
	node.Name, node.ResourceVersion = "node", "1"
	tests := map[string]struct {
		sequence *SequenceWrapper
		want     Kinds
	}{
		"pods, to a group of named pods":                {MakeSequence(oracleNamespace, "shop").Pods("db", "db"), OfPods},
		"pods and DaemonSets, to a group on a node":     {MakeSequence(oracleNamespace, "shop").Label("db", "tier", "db").NodeScope(), OfDaemonSets},
		"pods and all workloads, to any other":          {MakeSequence(oracleNamespace, "shop").Label("db", "tier", "db"), OfWorkloads},
		"pods, to a group of named pods, also on nodes": {MakeSequence(oracleNamespace, "shop").Pods("db", "db").NodeScope(), OfPods},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := newEmptyConfirming(t)
			d.ApplyNode(node)
			d.ApplySequence(test.sequence.UID("shop").Label("app", "tier", "app").Obj())
			subject := Subject{Namespace: oracleNamespace, Kinds: test.want}
			asked := d.ApplyPod(ready("db", "10")).Questions
			require.Len(t, asked, 1)
			require.Contains(t, asked, subject)
			assert.Empty(t, d.Confirm(subject, asked[subject].Moment).Questions)
		})
	}
	t.Run("an answer about more is one about less", func(t *testing.T) {
		d := newEmptyConfirming(t)
		d.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("db", "db").Label("app", "tier", "app").Obj())
		d.ApplyPod(app("app", "3"))
		d.ApplyPod(ready("db", "10"))
		d.expect(d.confirm("10"), nil, "app")
	})
}

func TestTheStatusOfNodesIsNotKeptByOthersThatAreUnconfirmed(t *testing.T) {
	d := newConfirming(t, v1alpha1.BootstrapOnly)
	d.ApplyPod(db("db-0", "10"))
	agents := types.NamespacedName{Namespace: oracleNamespace, Name: "agents"}
	d.ApplySequence(MakeSequence(agents.Namespace, agents.Name).UID("agents").Label("a", "agent", "a").Label("b", "agent", "b").NodeScope().Obj())
	report, ok := d.Report(agents)
	require.True(t, ok)
	assert.False(t, report.Confirming())
}

func TestPodsThatComeLateAreConfirmed(t *testing.T) {
	ready := func(t *testing.T, mode v1alpha1.EnforcementMode) confirming {
		d := newConfirming(t, mode)
		d.ApplyPod(db("db-0", "10"))
		d.confirm("10")
		return d
	}
	t.Run("where a group may break, a new pod waits until nothing from before it is missing", func(t *testing.T) {
		d := ready(t, v1alpha1.Continuous)
		late := app("late", "20")
		d.expectHeld(late, "checking that no change older than this pod was missed")
		d.expect(d.ApplyPod(late), about("20"))
		d.expect(d.confirm("20"), nil, "late")
		assert.False(t, d.Decide(late).Held)
	})
	t.Run("a change that was missing holds the new pod", func(t *testing.T) {
		d := ready(t, v1alpha1.Continuous)
		d.ApplyPod(app("late", "20"))
		d.ApplyWorkload(statefulSet(2, "15"))
		d.expect(d.confirm("20"), nil)
		d.expectHeld(app("late", "20"), "1 of 2 pods ready")
	})
	t.Run("a pod that only changes is not confirmed again", func(t *testing.T) {
		d := ready(t, v1alpha1.Continuous)
		d.ApplyPod(app("late", "20"))
		d.confirm("20")
		d.expect(d.ApplyPod(app("late", "30")), nil)
		assert.False(t, d.Decide(app("late", "30")).Held)
	})
	t.Run("a pod that comes into its group by a label is", func(t *testing.T) {
		d := ready(t, v1alpha1.Continuous)
		d.ApplyPod(makePod("late", "20").Obj())
		d.confirm("20")
		d.expect(d.ApplyPod(app("late", "30")), about("30"))
	})
	t.Run("what is passed permanently lets new pods go", func(t *testing.T) {
		d := ready(t, v1alpha1.BootstrapOnly)
		late := app("late", "20")
		d.expect(d.ApplyPod(late), nil)
		assert.False(t, d.Decide(late).Held)
	})
	t.Run("a pod that another sequence lets go is, as of when it did", func(t *testing.T) {
		d := ready(t, v1alpha1.Continuous)
		d.ApplySequence(MakeSequence(oracleNamespace, "night").UID("night").Label("", "tier", "app").Suspend().Obj())
		d.ApplyPod(app("late", "20"))
		d.confirm("20")
		d.expectHeld(app("late", "20"), "suspended")
		d.expect(d.RemoveSequence(types.NamespacedName{Namespace: oracleNamespace, Name: "night"}, "30"), about("30"))
		d.expect(d.confirm("30"), nil, "app", "late")
	})
	t.Run("a pod that waited for a sequence to be created is, as of when it was", func(t *testing.T) {
		d := ready(t, v1alpha1.Continuous)
		d.ApplyPod(makePod("late", "20").Label("tier", "app").Label(v1alpha1.SequenceLabel, "night").Obj())
		d.confirm("20")
		night := MakeSequence(oracleNamespace, "night").UID("night").Label("", "tier", "none").Obj()
		night.ResourceVersion = "30"
		d.expect(d.ApplySequence(night), about("30"))
		d.ApplyWorkload(statefulSet(2, "25"))
		d.expect(d.confirm("30"), nil)
	})
	t.Run("a pod that is gone is not released", func(t *testing.T) {
		d := ready(t, v1alpha1.Continuous)
		d.ApplyPod(app("late", "20"))
		d.RemovePod(app("late", "21"))
		d.expect(d.confirm("21"), nil)
	})
}

// What is known of workloads is behind what is known of pods.
func TestAGroupThatWasSatisfiedEarlyIsConfirmedWhenItIsReached(t *testing.T) {
	withConfig := func(t *testing.T) confirming {
		d := newEmptyConfirming(t)
		d.ApplyWorkload(statefulSet(1, "2"))
		d.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("config", "config").Label("db", "tier", "db").Label("app", "tier", "app").Obj())
		d.ApplyPod(app("app", "3"))
		d.expect(d.ApplyPod(db("db-0", "4")), nil) // nobody has reached it
		config := makePod("config", "7").Node("node").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj()
		d.expect(d.ApplyPod(config), Questions{{Namespace: oracleNamespace, Kinds: OfPods}: {Version: "7"}})
		return d
	}
	groups := func(d confirming) Changes {
		return d.Confirm(Subject{Namespace: oracleNamespace, Kinds: OfPods}, d.Moment())
	}
	t.Run("as of the moment at which it was reached", func(t *testing.T) {
		d := withConfig(t)
		d.expect(groups(d), about("7"))
		d.expect(d.confirm("4"), about("7"))
		d.expect(d.confirm("7"), nil, "app")
	})
	t.Run("at once if one answer says both", func(t *testing.T) {
		d := withConfig(t)
		d.expect(d.confirm("7"), nil, "app")
	})
	t.Run("so that what was missing holds the group", func(t *testing.T) {
		d := withConfig(t)
		groups(d)
		d.ApplyWorkload(statefulSet(2, "6"))
		d.confirm("7")
		d.expectHeld(app("app", "3"), "1 of 2 pods ready")
	})
	t.Run("and what was confirmed earlier is confirmed again", func(t *testing.T) {
		d := withConfig(t)
		d.confirm("4")
		groups(d)
		d.ApplyWorkload(statefulSet(2, "6"))
		d.confirm("7")
		d.expectHeld(app("app", "3"), "1 of 2 pods ready")
	})
}
