package podsequence

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"example.com/podsequence/apis/scheduling/v1alpha1"
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

func TestReleasedPodsAreBoundWithTheProof(t *testing.T) {
	tests := map[string]struct {
		pod       *v1.Pod
		wantProof bool
	}{
		"a pod of a group that was released":          {pod: pod("app", "8").Obj(), wantProof: true},
		"a pod that the engine does not know yet":     {pod: pod("app", "9").Label("a", "b").Obj(), wantProof: true},
		"a pod of the first group":                    {pod: pod("db", "8").Obj(), wantProof: true},
		"a pod that no sequence has: DefaultBinder's": {pod: pod("free", "8").Obj()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.databaseFirst()
			s.act(s.engine.ApplyPod(pod("app", "8").Obj()))
			if test.pod.Name != "db" {
				s.databaseReady("7")
			}
			want := s.engine.Verdict(test.pod).Proof(test.pod)
			require.Equal(t, test.wantProof, want != "")
			bindings := s.binds()

			require.True(t, s.bind(framework.NewCycleState(), test.pod, "n").IsSuccess())
			binding := <-bindings
			assert.Equal(t, test.pod.UID, binding.UID)
			assert.Equal(t, v1.ObjectReference{Kind: "Node", Name: "n"}, binding.Target)
			assert.Equal(t, want, binding.Annotations[v1alpha1.ReleasedAnnotation])
			assert.Empty(t, bindings, "it was bound twice")
		})
	}
}

// asynchronous is a handle of a scheduler whose feature SchedulerAsyncAPICalls is on.
type asynchronous struct {
	fwk.Handle
	calls fwk.APICacher
}

func (a asynchronous) APICacher() fwk.APICacher { return a.calls }

type calls struct {
	fwk.APICacher
	bindings []*v1.Binding
	err      error
}

func (c *calls) BindPod(binding *v1.Binding) (<-chan error, error) {
	c.bindings = append(c.bindings, binding)
	return nil, nil
}

func (c *calls) WaitOnFinish(context.Context, <-chan error) error { return c.err }

func TestAsynchronousCallsBindWithTheProof(t *testing.T) {
	for name, failure := range map[string]error{"the call succeeds": nil, "the call fails": errors.New("the server is down")} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.databaseFirst()
			bindings := s.binds()
			calls := &calls{err: failure}
			s.holder.handle = asynchronous{s.holder.handle, calls}
			app := pod("db", "8").Obj()
			status := (&PodSequence{holder: s.holder}).Bind(t.Context(), framework.NewCycleState(), app, "n")
			assert.ErrorIs(t, status.AsError(), failure)
			require.Len(t, calls.bindings, 1)
			assert.Equal(t, s.engine.Verdict(app).Proof(app), calls.bindings[0].Annotations[v1alpha1.ReleasedAnnotation])
			assert.Empty(t, bindings, "it was bound past the dispatcher")
		})
	}
}

// unanswered are calls that the API server does not answer.
type unanswered struct {
	fwk.APICacher
	sent atomic.Int32
}

func (u *unanswered) BindPod(*v1.Binding) (<-chan error, error) {
	u.sent.Add(1)
	return nil, nil
}

func (u *unanswered) WaitOnFinish(ctx context.Context, _ <-chan error) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestBindingsWaitWhileManyAreUnanswered(t *testing.T) {
	s := newStage(t)
	s.databaseFirst()
	synctest.Test(t, func(t *testing.T) {
		calls := &unanswered{}
		s.holder.handle, s.holder.binds = asynchronous{s.holder.handle, calls}, make(chan struct{}, maxBindsAtOnce)
		plugin := &PodSequence{holder: s.holder}
		send := func(ctx context.Context, name string) <-chan *fwk.Status {
			answer := make(chan *fwk.Status, 1)
			go func() { answer <- plugin.Bind(ctx, framework.NewCycleState(), pod(name, "8").Obj(), "n") }()
			return answer
		}
		many, forgetMany := context.WithCancel(t.Context())
		for range maxBindsAtOnce {
			send(many, "db")
		}
		synctest.Wait()
		one, forgetOne := context.WithCancel(t.Context())
		answer, last := send(one, "db"), send(t.Context(), "db")
		synctest.Wait()
		assert.EqualValues(t, maxBindsAtOnce, calls.sent.Load())

		forgetOne()
		assert.ErrorContains(t, (<-answer).AsError(), "wait for earlier bindings: context canceled")
		forgetMany()
		synctest.Wait()
		assert.EqualValues(t, maxBindsAtOnce+1, calls.sent.Load(), "the last one waits though others were answered")
		assert.Empty(t, last)
	})
}

func TestOnlyPodsThatAreBoundHereWaitForASlot(t *testing.T) {
	tests := map[string]struct {
		pod  *v1.Pod
		want fwk.Code
	}{
		"a pod of no sequence is left to DefaultBinder at once": {pod: pod("free", "8").Obj(), want: fwk.Skip},
		"a pod that must wait again is refused at once":         {pod: pod("later", "8").Obj(), want: fwk.UnschedulableAndUnresolvable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.addContinuousSequence("driver-n1")
			require.Equal(t, test.want, s.answerWithoutSlots(test.pod).Code())
		})
	}
}

// answerWithoutSlots returns what Bind answers while all slots are taken.
func (s *stage) answerWithoutSlots(p *v1.Pod) *fwk.Status {
	s.holder.binds = make(chan struct{}) // nobody receives
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	return (&PodSequence{holder: s.holder}).Bind(ctx, framework.NewCycleState(), p, "n1")
}

func TestAPodThatMustWaitSinceItAskedForASlotIsNotBound(t *testing.T) {
	s := newStage(t)
	s.nodes("n1")
	s.addContinuousSequence("driver-n1")
	app := pod("later", "8").Obj()
	s.act(s.engine.ApplyPod(app))
	bindings := s.binds()
	synctest.Test(t, func(t *testing.T) {
		s.holder.binds = make(chan struct{}, 1)
		s.holder.binds <- struct{}{}
		answer := make(chan *fwk.Status, 1)
		go func() {
			answer <- (&PodSequence{holder: s.holder}).Bind(t.Context(), framework.NewCycleState(), app, "n1")
		}()
		synctest.Wait()
		require.Empty(t, answer, "it waits for a slot")
		s.driver("n1", "7", v1.ConditionFalse)
		<-s.holder.binds
		assert.ErrorContains(t, (<-answer).AsError(), `waiting for group 1/2 "driver-n1" of PodSequence shop/shop`)
		assert.Empty(t, bindings)
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
