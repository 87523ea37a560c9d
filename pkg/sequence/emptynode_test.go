package sequence

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// longNodeSequence returns a sequence with as many groups as there may be, none of which has anything anywhere.
func longNodeSequence(edit func(*SequenceWrapper)) *v1alpha1.PodSequence {
	w := MakeSequence(oracleNamespace, "shop").UID("shop")
	for i := range 64 {
		w.Label("", "tier", fmt.Sprint(i))
		edit(w)
	}
	ps := w.Obj()
	ps.Spec.Scope = v1alpha1.ScopeNode
	ps.CreationTimestamp = metav1.NewTime(time.Unix(1_700_000_000, 0))
	return ps
}

// TestASequenceTakesMemoryWhereItHasSomething says what a sequence of scope Node with 64 groups takes beside a thousand nodes.
func TestASequenceTakesMemoryWhereItHasSomething(t *testing.T) {
	const nodes = 1_000
	plain := func(*SequenceWrapper) {}
	tests := map[string]struct {
		edit  func(*SequenceWrapper)
		after func(recording)
		most  int64
	}{
		"nothing of it is anywhere": {edit: plain, most: 600 << 10},
		"nothing of it is anywhere, and its groups are for other nodes": {
			edit: func(w *SequenceWrapper) { w.NodeSelector("zone", "none") }, most: 600 << 10,
		},
		"it goes on without groups that are too late": {
			edit: func(w *SequenceWrapper) { w.Timeout("1000h", v1alpha1.TimeoutContinue) }, most: 600 << 10,
		},
		"its groups need no pods": {
			edit: func(w *SequenceWrapper) { w.MinAvailable("0") }, most: 600 << 10,
		},
		"a DaemonSet is due on every node": {
			edit: plain, most: 1200 << 10,
			after: func(engine recording) {
				set := driverSet("1", 1)
				set.Spec.Template.Labels = map[string]string{"tier": "0"}
				engine.ApplyWorkload(set)
			},
		},
		"it asks for a condition of every node": {
			edit: func(w *SequenceWrapper) {
				if len(w.Spec.PodGroups) == 64 {
					asksForHealth(w)
				}
			}, most: 1200 << 10,
			after: func(engine recording) {
				for i := range nodes {
					engine.ApplyNode(reporting(fleetNode(i, "2"), "example.com/Healthy", corev1.ConditionTrue))
				}
			},
		},
		"pods of it were on every node": {
			edit: plain, most: 1200 << 10,
			after: func(engine recording) {
				for i := range nodes {
					pod := makePod(fmt.Sprint("pod-", i), "1").Label("tier", "0").Node(fmt.Sprint("node-", i)).
						Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj()
					engine.ApplyPod(pod)
					engine.RemovePod(pod)
				}
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			engine.Tick(time.Unix(1_700_000_000, 0))
			for i := range nodes {
				engine.ApplyNode(fleetNode(i, "1"))
			}
			ps := longNodeSequence(tt.edit)
			before := liveHeap()
			engine.ApplySequence(ps)
			if tt.after != nil {
				tt.after(engine)
			}
			used := liveHeap() - before
			assert.Less(t, used, tt.most)
			runtime.KeepAlive(engine)
			runtime.KeepAlive(ps)
		})
	}
}

// Asking whether a node is open where nothing of a sequence is must not cost more than asking where something is.
func TestAskingForAnEmptyNodeAllocatesNothing(t *testing.T) {
	engine := newEngine()
	engine.ApplyNode(fleetNode(0, "1"))
	engine.ApplySequence(longNodeSequence(func(w *SequenceWrapper) { w.NodeSelector("zone", "0") }))
	s := engine.sequences[shopKey]
	assert.Zero(t, testing.AllocsPerRun(100, func() { s.isOpen("node-0", 7) }))
}

// A restarted program may be told of a sequence before it is told of the nodes that status speaks of.
func TestARecordOfANodeCountsWhicheverOfBothIsKnownFirst(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	node := fleetNode(0, "1")
	node.CreationTimestamp = metav1.NewTime(start)
	sequence := func() *v1alpha1.PodSequence {
		w := MakeSequence(oracleNamespace, "shop").UID("shop").NodeScope().
			Label("Driver", "app", "driver").MinAvailable("0").Wait("10s").Label("App", "tier", "app")
		w.CreationTimestamp = metav1.NewTime(start)
		return w.Obj()
	}
	engine := newEngine()
	engine.ApplySequence(sequence())
	report, _ := engine.Report(shopKey)
	recorded := sequence()
	for _, group := range report.Groups {
		recorded.Status.Groups = append(recorded.Status.Groups, v1alpha1.GroupStatus{Hash: group.Hash})
	}
	satisfiedAt := metav1.NewTime(start.Add(time.Minute))
	recorded.Status.NodeStatus = []v1alpha1.NodeStatus{{NodeName: node.Name, SatisfiedAt: &satisfiedAt}}

	know := map[string]func(recording){
		"the node":     func(e recording) { e.ApplyNode(node); e.ApplySequence(recorded) },
		"the sequence": func(e recording) { e.ApplySequence(recorded); e.ApplyNode(node) },
	}
	for first, apply := range know {
		t.Run(first, func(t *testing.T) {
			engine := newEngine()
			engine.Tick(start.Add(time.Hour))
			apply(engine)
			app := makePod("app", "1").Label("tier", "app").
				NodeAffinityIn("metadata.name", []string{node.Name}, st.NodeSelectorTypeMatchFields).Obj()
			engine.ApplyPod(app)
			assert.False(t, engine.Decide(app).Held, "the wait was over long ago")

			again := newEngine()
			again.Tick(start.Add(time.Hour))
			second := node.DeepCopy()
			second.UID, second.CreationTimestamp = "second", metav1.NewTime(start.Add(time.Hour-5*time.Second))
			node, second = second, node
			apply(again)
			node = second
			again.ApplyPod(app)
			assert.True(t, again.Decide(app).Held, "the record is of another node of this name")
		})
	}
}
