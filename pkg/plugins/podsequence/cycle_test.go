package podsequence

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
	. "example.com/podsequence/test/harness/builders"
)

// nodes come up, with a driver on each that is ready.
// roomyNode is a node with room for ten pods.
func roomyNode(name, version string) *st.NodeWrapper {
	node := st.MakeNode().Name(name).Label(v1.LabelHostname, name).
		Capacity(map[v1.ResourceName]string{v1.ResourceCPU: "4", v1.ResourcePods: "10"})
	node.ResourceVersion = version
	return node
}

func (s *stage) nodes(names ...string) {
	s.act(s.engine.ApplySequence(MakeSequence("shop", "storage").UID("storage").
		Label("Driver", "tier", "driver").Label("Application", "tier", "app").NodeScope().Obj()))
	for _, name := range names {
		node := roomyNode(name, "1").Obj()
		s.Cache.AddNode(klog.FromContext(s.Context()), node)
		s.act(s.engine.ApplyNode(node))
		s.driver(name, "2", v1.ConditionTrue)
	}
}

func (s *stage) driver(node, version string, ready v1.ConditionStatus) {
	driver := pod("driver-"+node, version).Node(node).Label("tier", "driver").Obj()
	driver.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: ready, LastTransitionTime: metav1.Now()}}
	s.act(s.engine.ApplyPod(driver))
}

// tryOne makes the scheduler try the next pod, which must fail. It returns the status once the pod is back in the queue.
func (s *stage) tryOne() *fwk.Status {
	s.Helper()
	failed := make(chan *fwk.Status, 1)
	handle := s.FailureHandler
	s.FailureHandler = func(ctx context.Context, f framework.Framework, pod *framework.QueuedPodInfo, status *fwk.Status,
		nominating *fwk.NominatingInfo, start time.Time,
	) {
		handle(ctx, f, pod, status, nominating, start)
		failed <- status
	}
	s.ScheduleOne(s.Context())
	select {
	case status := <-failed:
		s.FailureHandler = handle
		return status
	case <-time.After(30 * time.Second):
		require.Fail(s, "the pod did not fail")
		return nil
	}
}

// comesBack says that the pod will be tried again by itself, without an event and without the flush of unschedulable pods.
func (s *stage) comesBack(p *v1.Pod) {
	s.Helper()
	assert.Empty(s, s.queue.UnschedulablePods())
	var names []string
	for _, p := range append(s.queue.PodsInActiveQ(), s.queue.PodsInBackoffQ()...) {
		names = append(names, p.Name)
	}
	assert.Equal(s, []string{p.Name}, names)
}

func TestANodeThatClosesAfterItWasChosen(t *testing.T) {
	for point, set := range map[string]func(s *stage, closes func(node string)){
		"before Reserve": func(s *stage, closes func(string)) { s.beforeReserve = closes },
		"before Bind":    func(s *stage, closes func(string)) { s.beforeBind = closes },
	} {
		newApp := func(t *testing.T) (*stage, *v1.Pod) {
			s := newStage(t)
			s.nodes("n1", "n2")
			app := pod("app", "5").Label("tier", "app").Obj()
			s.act(s.engine.ApplyPod(app))
			s.deliver(app)
			require.Equal(t, []string{"app"}, s.active())
			return s, app
		}
		t.Run(point+": the pod comes back by itself, for another node is open", func(t *testing.T) {
			s, app := newApp(t)
			bindings := s.binds()
			set(s, func(node string) { s.driver(node, "6", v1.ConditionFalse) })
			status := s.tryOne()
			assert.True(t, status.IsRejected(), "is no failure of the scheduler")
			assert.ErrorContains(t, status.AsError(), `node(s) waiting for group 1/2 "Driver" of PodSequence shop/storage`)
			s.comesBack(app)
			assert.Empty(t, bindings)
		})
		t.Run(point+": the pod is unschedulable when all nodes close, and comes back when one opens", func(t *testing.T) {
			s, app := newApp(t)
			bindings := s.binds()
			set(s, func(string) {
				s.driver("n1", "6", v1.ConditionFalse)
				s.driver("n2", "7", v1.ConditionFalse)
			})
			s.tryOne()
			s.comesBack(app)
			s.queue.Activate(klog.FromContext(s.Context()), map[string]*v1.Pod{"app": app}) // its back-off is over
			assert.ErrorContains(t, s.tryOne().AsError(), `2 node(s) waiting for group 1/2 "Driver" of PodSequence shop/storage`)
			assert.Empty(t, s.active())
			assert.Empty(t, s.queue.PodsInBackoffQ())
			assert.Len(t, s.queue.UnschedulablePods(), 1)
			s.driver("n2", "8", v1.ConditionTrue)
			s.comesBack(app)
			assert.Empty(t, bindings)
		})
	}
}

func TestAPodThatMustWaitSinceItsNodeWasChosenIsNotBound(t *testing.T) {
	tests := map[string]struct {
		holds, frees func(s *stage)
		wantMessage  string
	}{
		"an earlier group broke, and order is enforced continuously": {
			holds: func(s *stage) { s.driver("n1", "6", v1.ConditionFalse) },
			frees: func(s *stage) { s.driver("n1", "7", v1.ConditionTrue) },

			wantMessage: `waiting for group 1/2 "driver-n1" of PodSequence shop/shop`,
		},
		"the sequence got another group before it": {
			holds: func(s *stage) { s.addContinuousSequence("driver-n1", "migration") },
			frees: func(s *stage) { s.addContinuousSequence("driver-n1") },

			wantMessage: `waiting for group 2/3 "migration" of PodSequence shop/shop`,
		},
		"the scheduler lost sight of PodSequences": {
			holds: func(s *stage) { s.known.set("podsequences cannot be listed: forbidden") },
			frees: func(s *stage) { s.known.set(""); s.act(s.engine.Everything()) },

			wantMessage: "waiting for PodSequence: podsequences cannot be listed: forbidden",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.nodes("n1")
			s.addContinuousSequence("driver-n1")
			app := pod("later", "5").Obj()
			s.act(s.engine.ApplyPod(app))
			s.deliver(app)
			require.Equal(t, []string{"later"}, s.active())
			bindings := s.binds()
			s.beforeBind = func(string) { test.holds(s) }
			assert.ErrorContains(t, s.tryOne().AsError(), test.wantMessage)
			assert.Empty(t, bindings)
			assert.Empty(t, s.active())

			test.frees(s)
			s.comesBack(app)
			s.beforeBind = func(string) {}
			s.ScheduleOne(t.Context())
			assert.Equal(t, app.UID, (<-bindings).UID)
		})
	}
}

// addContinuousSequence makes pod "later" wait for these pods as long as any of them is not ready.
func (s *stage) addContinuousSequence(earlier ...string) {
	sequence := MakeSequence("shop", "shop").UID("shop")
	for _, name := range earlier {
		sequence.Pods(name, name)
	}
	ps := sequence.Pods("Later", "later").Obj()
	ps.Spec.EnforcementMode = v1alpha1.Continuous
	ps.Generation = int64(len(earlier)) // what is edited has another one
	s.act(s.engine.ApplySequence(ps))
}

// The scheduler's informer of nodes and the engine's watch are two streams.
func TestANodeOfWhichTheSchedulerKnowsNewerLabelsIsNotOpen(t *testing.T) {
	s := newStage(t)
	s.act(s.engine.ApplySequence(MakeSequence("shop", "storage").UID("storage").
		Label("Driver", "tier", "driver").NodeSelector("gpu", "yes").Label("Application", "tier", "app").NodeScope().Obj()))
	node := roomyNode("n1", "1").Obj()
	s.act(s.engine.ApplyNode(node))
	labelled := node.DeepCopy()
	labelled.Labels["gpu"], labelled.ResourceVersion = "yes", "2"
	s.Cache.AddNode(klog.FromContext(s.Context()), labelled) // which the engine has not been told
	app := pod("app", "5").Label("tier", "app").NodeSelector(map[string]string{"gpu": "yes"}).Obj()
	s.act(s.engine.ApplyPod(app))
	s.deliver(app)
	require.Equal(t, []string{"app"}, s.active(), "no node suits it, as far as the engine knows")
	bindings := s.binds()
	assert.ErrorContains(t, s.tryOne().AsError(), `node(s) waiting for group 1/2 "Driver" of PodSequence shop/storage: labels of the node have just changed`)
	assert.Empty(t, bindings)
	s.act(s.engine.ApplyNode(labelled))
	s.driver("n1", "6", v1.ConditionTrue)
	s.comesBack(app)
}

func TestANodeThatIsClosedToAPodOnlySinceItsCycleBegan(t *testing.T) {
	s := newStage(t)
	s.nodes("n1", "n2")
	s.act(s.engine.RemoveSequence(types.NamespacedName{Namespace: "shop", Name: "storage"}, "4"))
	app := pod("app", "5").Label("tier", "app").Obj()
	s.act(s.engine.ApplyPod(app))
	s.deliver(app)
	require.Equal(t, []string{"app"}, s.active())
	bindings := s.binds()
	s.beforeBind = func(node string) {
		s.driver(node, "6", v1.ConditionFalse)
		s.act(s.engine.ApplySequence(MakeSequence("shop", "storage").UID("again").
			Label("Driver", "tier", "driver").Label("Application", "tier", "app").NodeScope().Obj()))
	}
	assert.ErrorContains(t, s.tryOne().AsError(), `node(s) waiting for group 1/2 "Driver" of PodSequence shop/storage`)
	s.comesBack(app)
	assert.Empty(t, bindings)
}

// The driver is ready, so that to the engine the node is open to the application with and without the label.
func TestAPodThatIsRefusedForNewLabelsComesBackThoughNothingOpens(t *testing.T) {
	s := newStage(t)
	s.act(s.engine.ApplySequence(MakeSequence("shop", "storage").UID("storage").
		Label("Driver", "tier", "driver").NodeSelector("gpu", "yes").Label("Application", "tier", "app").NodeScope().Obj()))
	node := roomyNode("n1", "1").Label("gpu", "yes").Obj()
	s.act(s.engine.ApplyNode(node))
	s.driver("n1", "2", v1.ConditionTrue)
	relabelled := node.DeepCopy()
	delete(relabelled.Labels, "gpu")
	relabelled.ResourceVersion = "6"
	s.Cache.AddNode(klog.FromContext(s.Context()), relabelled)
	app := pod("app", "5").Label("tier", "app").Obj()
	s.act(s.engine.ApplyPod(app))
	s.deliver(app)
	assert.ErrorContains(t, s.tryOne().AsError(), "labels of the node have just changed")
	s.act(s.engine.ApplyNode(relabelled))
	s.comesBack(app)
}

// allClosed makes so many nodes of which none is open.
func (s *stage) allClosed(count int) {
	for i := range count {
		s.nodes(fmt.Sprint("n", i))
		s.driver(fmt.Sprint("n", i), "6", v1.ConditionFalse)
	}
}

// The stock plugin NodeAffinity does not narrow a pod to the node whose host it selects: thousands would be filtered for each pod of a driver's
// node.
func TestWithManyNodesAPodThatSelectsItsHostIsTriedOnThatNodeAlone(t *testing.T) {
	s := newStage(t)
	s.allClosed(manyNodes)
	s.driver("n7", "7", v1.ConditionTrue)
	s.driver("n8", "8", v1.ConditionTrue)
	app := pod("app", "9").Label("tier", "app").NodeSelector(map[string]string{v1.LabelHostname: "n7"}).Obj()
	s.act(s.engine.ApplyPod(app))
	for nodes, want := range map[int]*fwk.PreFilterResult{manyNodes: {NodeNames: sets.New("n7")}, manyNodes - 1: nil} {
		result, status := s.holder.preFilter(klog.FromContext(s.Context()), framework.NewCycleState(), app, nodes)
		require.True(t, status.IsSuccess())
		assert.Equal(t, want, result, "of %d nodes", nodes)
	}
}

// To filter thousands of nodes for each of thousands of pods would keep the scheduler from all others. So would thousands of unschedulable pods.
func TestWithManyNodesAPodIsRefusedBeforeTheyAreFilteredAndKeptOut(t *testing.T) {
	s := newStage(t)
	s.allClosed(manyNodes)
	app := pod("app", "7").Label("tier", "app").Obj()
	s.act(s.engine.ApplyPod(app))
	s.deliver(app)
	require.Equal(t, []string{"app"}, s.active(), "it is tried, not held")
	assert.EqualError(t, s.tryOne().AsError(), `0/100 nodes are available: 100 node(s) waiting for group 1/2 "Driver" of PodSequence shop/storage. `+
		`preemption: 0/100 nodes are available: 100 Preemption is not helpful for scheduling.`)
	assert.Empty(t, s.queue.PodsInBackoffQ())
	queued, _ := s.queue.GetPod("app", "shop", nil)
	assert.True(t, queued.Gated(), "the queue asks of it no more whenever a pod is bound")
	s.queue.Activate(klog.FromContext(s.Context()), map[string]*v1.Pod{"app": app})
	assert.Empty(t, s.active(), "to try it again would be in vain")

	told := app.DeepCopy()
	told.ResourceVersion = "8"
	told.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable}}
	s.act(s.engine.ApplyPod(told))
	s.queue.Activate(klog.FromContext(s.Context()), map[string]*v1.Pod{"app": told})
	assert.Empty(t, s.active())

	s.driver("n7", "9", v1.ConditionTrue)
	s.comesBack(app)
	result, status := s.holder.preFilter(klog.FromContext(s.Context()), framework.NewCycleState(), app, manyNodes)
	require.True(t, status.IsSuccess())
	assert.Equal(t, sets.New("n7"), result.NodeNames, "only these are filtered")
	bindings := s.binds()
	s.ScheduleOne(t.Context())
	assert.Equal(t, "n7", (<-bindings).Target.Name)
}

func TestAPodIsTriedAgainThoughNoNodeIsOpen(t *testing.T) {
	t.Run("when there are few nodes, of which other plugins may say more", func(t *testing.T) {
		s := newStage(t)
		s.allClosed(2)
		app := pod("app", "7").Label("tier", "app").Obj()
		s.act(s.engine.ApplyPod(app))
		s.deliver(app)
		s.tryOne()
		queued, _ := s.queue.GetPod("app", "shop", nil)
		assert.False(t, queued.Gated())
	})
	t.Run("when another sequence has held it since, which has changed what people are told", func(t *testing.T) {
		s := newStage(t)
		s.allClosed(manyNodes)
		first := func(version string, ready v1.ConditionStatus) {
			p := pod("first", version).Node("n1").Label("tier", "first").Obj()
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: ready, LastTransitionTime: metav1.Now()}}
			s.act(s.engine.ApplyPod(p))
		}
		first("7", v1.ConditionTrue)
		ps := MakeSequence("shop", "shop").UID("shop").Label("First", "tier", "first").Pods("Later", "later").Obj()
		ps.Spec.EnforcementMode = v1alpha1.Continuous
		s.act(s.engine.ApplySequence(ps))
		app := pod("later", "8").Label("tier", "app").Obj()
		s.act(s.engine.ApplyPod(app))
		s.deliver(app)
		s.tryOne()
		first("9", v1.ConditionFalse)
		require.True(t, s.engine.Verdict(app).Held)
		_, status := s.holder.preFilter(klog.FromContext(s.Context()), framework.NewCycleState(), app, manyNodes) // of a cycle under way
		require.False(t, status.IsSuccess())
		first("10", v1.ConditionTrue)
		s.comesBack(app)
	})
	t.Run("when it is another pod of that name", func(t *testing.T) {
		s := newStage(t)
		s.allClosed(manyNodes)
		old, app := pod("app", "7").UID("old").Label("tier", "app").Obj(), pod("app", "8").UID("new").Label("tier", "app").Obj()
		s.act(s.engine.ApplyPod(app))
		_, status := s.holder.preFilter(klog.FromContext(s.Context()), framework.NewCycleState(), old, manyNodes)
		require.False(t, status.IsSuccess())
		s.deliver(app)
		assert.Equal(t, []string{"app"}, s.active())
	})
	for told, want := range map[string]struct{ soon, later bool }{
		"": {true, false}, v1.PodReasonSchedulingGated: {false, false}, v1.PodReasonUnschedulable: {true, true},
	} {
		t.Run(fmt.Sprintf("when it says %q, unless that is about to change", told), func(t *testing.T) {
			refused := time.Now()
			app := pod("app", "5").Obj()
			if told != "" {
				app.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: told}}
			}
			assert.Equal(t, want.soon, isInVain(sequence.Verdict{InVain: refused}, app, refused.Add(toldAfter-1)))
			assert.Equal(t, want.later, isInVain(sequence.Verdict{InVain: refused}, app, refused.Add(toldAfter)))
			assert.False(t, isInVain(sequence.Verdict{}, app, refused))
		})
	}
}

// The driver ran on the node that had this name before.
func TestANodeOfWhichTheSchedulerKnowsThatItIsAnotherOneIsNotOpen(t *testing.T) {
	s := newStage(t)
	s.nodes("n1")
	node := roomyNode("n1", "6").UID("another").Obj()
	node.CreationTimestamp = metav1.Now()
	require.NoError(t, s.Cache.RemoveNode(klog.FromContext(s.Context()), st.MakeNode().Name("n1").Obj()))
	s.Cache.AddNode(klog.FromContext(s.Context()), node) // which the engine has not been told
	app := pod("app", "5").Label("tier", "app").Obj()
	s.act(s.engine.ApplyPod(app))
	s.deliver(app)
	require.Equal(t, []string{"app"}, s.active())
	bindings := s.binds()
	assert.ErrorContains(t, s.tryOne().AsError(), `node(s) waiting for group 1/2 "Driver" of PodSequence shop/storage`)
	assert.Empty(t, bindings)
	s.act(s.engine.ApplyNode(node))
	s.driver("n1", "7", v1.ConditionTrue)
	s.comesBack(app)
}

// The driver is ready, so that to the engine the node is open to the application with and without the label.
func TestANodeThatComesWithNewLabelsBringsPodsBackThoughNothingOpens(t *testing.T) {
	s := newStage(t)
	s.act(s.engine.ApplySequence(MakeSequence("shop", "storage").UID("storage").
		Label("Driver", "tier", "driver").NodeSelector("gpu", "yes").Label("Application", "tier", "app").NodeScope().Obj()))
	newNode := func(name string) *v1.Node {
		node := roomyNode(name, "1").Label("gpu", "yes").Obj()
		s.act(s.engine.ApplyNode(node))
		return node
	}
	node := newNode("n1") // of which the scheduler does not know yet
	s.driver("n1", "2", v1.ConditionTrue)
	s.Cache.AddNode(klog.FromContext(s.Context()), newNode("n2"))
	app := pod("app", "5").Label("tier", "app").Obj()
	s.act(s.engine.ApplyPod(app))
	s.deliver(app)
	assert.ErrorContains(t, s.tryOne().AsError(), `1 node(s) waiting for group 1/2 "Driver" of PodSequence shop/storage`)
	require.Len(t, s.queue.UnschedulablePods(), 1)

	relabelled := node.DeepCopy()
	delete(relabelled.Labels, "gpu")
	relabelled.ResourceVersion = "6"
	s.Cache.AddNode(klog.FromContext(s.Context()), relabelled)
	s.queue.MoveAllToActiveOrBackoffQueue(klog.FromContext(s.Context()), fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}, nil, relabelled, nil)
	s.act(s.engine.ApplyNode(relabelled))
	s.comesBack(app)
}
