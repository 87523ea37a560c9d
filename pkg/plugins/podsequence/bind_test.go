package podsequence

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// binds returns a channel that receives every Binding that reaches the API server.
func (s *stage) binds() <-chan *v1.Binding {
	bindings := make(chan *v1.Binding, 10)
	s.client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		bindings <- action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
		return true, nil, nil
	})
	return bindings
}

// bind runs the Bind plugins of the profile, as the scheduler does for a pod whose node it has chosen.
func (s *stage) bind(state fwk.CycleState, p *v1.Pod, node string) *fwk.Status {
	assumed := p.DeepCopy()
	assumed.Spec.NodeName = node
	return s.Profiles[schedulerName].RunBindPlugins(s.Context(), state, assumed, node)
}

func TestPodsThatMayGoAreBoundByDefaultBinder(t *testing.T) {
	tests := map[string]struct {
		pod         *v1.Pod
		wantOrdered bool
	}{
		"a pod of a group that was released":      {pod: pod("app", "8").Obj(), wantOrdered: true},
		"a pod that the engine does not know yet": {pod: pod("app", "9").Label("a", "b").Obj(), wantOrdered: true},
		"a pod of the first group":                {pod: pod("db", "8").Obj(), wantOrdered: true},
		"a pod that no sequence has":              {pod: pod("free", "8").Obj()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.databaseFirst()
			s.act(s.engine.ApplyPod(pod("app", "8").Obj()))
			if test.pod.Name != "db" {
				s.databaseReady("7")
			}
			require.Equal(t, test.wantOrdered, s.engine.Verdict(test.pod).Ordered)
			bindings := s.binds()

			require.True(t, s.bind(framework.NewCycleState(), test.pod, "n").IsSuccess())
			binding := <-bindings
			assert.Equal(t, test.pod.UID, binding.UID)
			assert.Equal(t, v1.ObjectReference{Kind: "Node", Name: "n"}, binding.Target)
			assert.Empty(t, binding.Annotations)
			assert.Empty(t, bindings, "it was bound twice")
		})
	}
}

// ask asks Bind about a pod, in the context of a binding cycle.
func (s *stage) ask(ctx context.Context, p *v1.Pod) <-chan *fwk.Status {
	answer := make(chan *fwk.Status, 1)
	go func() { answer <- (&PodSequence{holder: s.holder}).Bind(ctx, framework.NewCycleState(), p, "n1") }()
	return answer
}

func TestPodsWaitWhileManyAreBeingBound(t *testing.T) {
	s := newStage(t)
	s.databaseFirst()
	synctest.Test(t, func(t *testing.T) {
		s.holder.binds = make(chan struct{}, maxBindsAtOnce)
		many, end := context.WithCancel(t.Context())
		for range maxBindsAtOnce {
			require.True(t, (<-s.ask(many, pod("db", "8").Obj())).IsSkip())
		}
		one, forgetOne := context.WithCancel(t.Context())
		answer, last := s.ask(one, pod("db", "8").Obj()), s.ask(t.Context(), pod("db", "8").Obj())
		synctest.Wait()
		assert.Empty(t, answer)
		assert.Empty(t, last)

		forgetOne()
		assert.ErrorContains(t, (<-answer).AsError(), "wait for earlier bindings: context canceled")
		end()
		assert.True(t, (<-last).IsSkip(), "the last one waits though others are bound")
	})
}

// However the binding of a pod ends, another may be bound after it.
func TestABindingCycleThatEndsGivesItsSlotBack(t *testing.T) {
	tests := map[string]struct {
		change  func(profile *config.KubeSchedulerProfile)
		prepare func(s *stage)
		fails   bool
	}{
		"the pod is bound": {},
		"the API server refuses": {fails: true, prepare: func(s *stage) {
			s.client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("the server is down")
			})
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.holder.binds = make(chan struct{}, 1)
			s.nodes("n1")
			s.databaseFirst()
			bindings := s.binds()
			if test.prepare != nil {
				test.prepare(s)
			}
			s.deliver(pod("db", "5").Obj())
			if test.fails {
				s.tryOne()
			} else {
				s.ScheduleOne(t.Context())
				<-bindings
			}
			select {
			case status := <-s.ask(t.Context(), pod("db", "8").Obj()):
				assert.True(t, status.IsSkip(), status.Message())
			case <-time.After(30 * time.Second):
				assert.Fail(t, "its slot is still taken")
			}
		})
	}
}

func TestOnlyPodsThatSequencesReleaseWaitForASlot(t *testing.T) {
	tests := map[string]struct {
		pod  *v1.Pod
		want fwk.Code
	}{
		"a pod of no sequence is left to DefaultBinder at once": {pod: pod("free", "8").Obj(), want: fwk.Skip},
		"a pod that must wait again is refused at once":         {pod: pod("later", "8").Obj(), want: fwk.UnschedulableAndUnresolvable},
		"a pod that a sequence releases waits":                  {pod: pod("driver-n1", "8").Obj(), want: fwk.Error},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.addContinuousSequence("driver-n1")
			s.holder.binds = make(chan struct{}) // nobody receives
			ctx, cancel := context.WithCancel(s.Context())
			cancel()
			require.Equal(t, test.want, (<-s.ask(ctx, test.pod)).Code())
		})
	}
}

func TestAPodThatMustWaitSinceItAskedForASlotIsNotBound(t *testing.T) {
	s := newStage(t)
	s.nodes("n1")
	s.addContinuousSequence("driver-n1")
	app := pod("later", "8").Obj()
	s.act(s.engine.ApplyPod(app))
	synctest.Test(t, func(t *testing.T) {
		s.holder.binds = make(chan struct{}, 1)
		s.holder.binds <- struct{}{}
		answer := s.ask(t.Context(), app)
		synctest.Wait()
		require.Empty(t, answer, "it waits for a slot")
		s.driver("n1", "7", v1.ConditionFalse)
		<-s.holder.binds
		assert.ErrorContains(t, (<-answer).AsError(), `waiting for group 1/2 "driver-n1" of PodSequence shop/shop`)
	})
}

func TestFailureToBindIsReported(t *testing.T) {
	s := newStage(t)
	s.databaseFirst()
	s.client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("the server is down")
	})
	status := s.bind(framework.NewCycleState(), pod("db", "8").Obj(), "n")
	assert.Equal(t, fwk.Error, status.Code())
	assert.ErrorContains(t, status.AsError(), "the server is down")
}
