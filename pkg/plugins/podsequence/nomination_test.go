package podsequence

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// The database is not ready any more when the application, for which somebody was evicted, waits for its room.
func TestAPodThatIsHeldAgainGivesBackTheRoomThatItWasPromised(t *testing.T) {
	s := newStage(t)
	patches := s.patches()
	s.nodes("n1")
	s.addContinuousSequence("driver-n1")
	app := pod("later", "5").NominatedNodeName("n1").Obj()
	s.act(s.engine.ApplyPod(app))
	s.deliver(app)
	require.Equal(t, []string{"later"}, s.active())
	require.Len(t, s.queue.NominatedPodsForNode("n1"), 1)

	s.driver("n1", "6", v1.ConditionFalse)
	assert.JSONEq(t, `{"metadata":{"uid":"later","resourceVersion":"5"},"status":{"nominatedNodeName":null}}`, s.awaitPatch(patches))

	cleared := pod("later", "7").Obj()
	require.NoError(t, s.informer().Add(cleared))
	s.queue.Update(t.Context(), app, cleared)
	assert.Empty(t, s.queue.NominatedPodsForNode("n1"), "other pods count it no more")
}

func TestAPodThatIsHeldAgainGivesBackRoomOfWhichOnlyTheSchedulerKnows(t *testing.T) {
	s := newStage(t)
	s.nodes("n1")
	s.addContinuousSequence("driver-n1")
	app := pod("later", "5").Obj()
	s.act(s.engine.ApplyPod(app))
	s.deliver(app)
	info, err := framework.NewPodInfo(app)
	require.NoError(t, err)
	s.queue.AddNominatedPod(klog.FromContext(t.Context()), info, // and the patch of the status was lost
		&fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: "n1"})
	require.Len(t, s.queue.NominatedPodsForNode("n1"), 1)

	s.driver("n1", "6", v1.ConditionFalse)
	assert.Empty(t, s.queue.NominatedPodsForNode("n1"), "other pods count it no more")
}

// Volumes may take minutes to be provisioned. The scheduler counts the pod on its node meanwhile.
func TestAPodThatIsHeldAgainBeforeItIsBoundLeavesItsNode(t *testing.T) {
	s := newStage(t)
	s.nodes("n1")
	s.addContinuousSequence("driver-n1")
	bindings := s.binds()
	app := pod("later", "5").Obj()
	s.act(s.engine.ApplyPod(app))
	s.deliver(app)
	s.preBind = func(ctx context.Context) error {
		s.driver("n1", "6", v1.ConditionFalse)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(30 * time.Second):
			return errors.New("the volumes were waited for")
		}
	}
	assert.ErrorContains(t, s.tryOne().AsError(), "must wait for its turn in a PodSequence again")
	assumed, err := s.Cache.IsAssumedPod(app)
	require.NoError(t, err)
	assert.False(t, assumed)
	assert.Empty(t, bindings)
	assert.Empty(t, s.active())

	s.preBind = nil
	s.driver("n1", "7", v1.ConditionTrue)
	s.comesBack(app)
	s.ScheduleOne(t.Context())
	assert.Equal(t, "n1", (<-bindings).Target.Name)
}

// patches returns a channel that receives every patch of a pod.
func (s *stage) patches() <-chan string {
	patches := make(chan string, 10)
	s.client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patches <- string(action.(clienttesting.PatchAction).GetPatch())
		return true, &v1.Pod{}, nil
	})
	return patches
}

// awaitPatch lets time pass until a pod is written to.
func (s *stage) awaitPatch(patches <-chan string) string {
	s.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case patch := <-patches:
			return patch
		case <-deadline:
			require.Fail(s, "no pod is written to")
			return ""
		case <-time.After(10 * time.Millisecond):
			s.clock.Step(100 * time.Millisecond)
		}
	}
}
