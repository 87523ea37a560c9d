package deploymentcoordination

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/pkg/sequence"
)

func TestTheTurnGoesToOneWhosePodsNobodyHolds(t *testing.T) {
	type S = []v1.DeploymentState
	type M = []Member
	waitingA, waitingB := record(deployment("a", changed), pending(long), onHold), record(deployment("b", changed), pending(long), onHold)
	activeA := record(deployment("a", changed), pending(long), started(-10*time.Second))
	late := func(s *v1.DeploymentCoordinationSpec) { s.RolloutTimeoutSeconds = new(int32(5)) }
	for name, tc := range map[string]struct {
		active      string
		states      S
		members     M
		busy        string
		spec        func(*v1.DeploymentCoordinationSpec)
		wantActive  string
		wantPause   []string
		wantUnpause []string
		wantAgain   time.Duration
		wantHeldBy  map[string]string // of the states, where there is any
		// wantDegraded is the reason of Degraded and a part of its message; empty if it is not.
		wantDegraded, wantMessage string
	}{
		"the first by name is held: the next goes first": {
			states:     S{waitingA, waitingB},
			members:    M{deployment("a", changed, held, bySequence("b")), deployment("b", changed, held)},
			wantActive: "b", wantUnpause: []string{"b"}, wantHeldBy: map[string]string{"shop/a": "shop/order"},
		},
		"all are held: the first by name": {
			states:     S{waitingA, waitingB},
			members:    M{deployment("a", changed, held, bySequence()), deployment("b", changed, held, bySequence())},
			wantActive: "a", wantUnpause: []string{"a"}, wantHeldBy: map[string]string{"shop/a": "shop/order", "shop/b": "shop/order"},
		},
		"the active one is held and another is not: the turn passes on": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolling, bySequence("b")), deployment("b", changed, held)},
			wantActive: "b", wantPause: []string{"a"}, wantUnpause: []string{"b"}, wantHeldBy: map[string]string{"shop/a": "shop/order"},
		},
		"the turn passes on before a time-out halts": {
			active: "a", states: S{activeA, waitingB},
			members: M{deployment("a", rolling, bySequence("b")), deployment("b", changed, held)}, spec: late,
			wantActive: "b", wantPause: []string{"a"}, wantUnpause: []string{"b"}, wantHeldBy: map[string]string{"shop/a": "shop/order"},
		},
		"it does not pass on to one that has just come": {
			active: "a", states: S{activeA, record(deployment("b", changed), pending(-100*time.Millisecond), onHold)},
			members: M{deployment("a", rolling, bySequence("b")), deployment("b", changed, held)},
			// a has waited long, but it is b that others may come with.
			wantActive: "a", wantAgain: 900 * time.Millisecond, wantHeldBy: map[string]string{"shop/a": "shop/order"},
		},
		"it does not pass on to one that is held": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolling, bySequence("b")), deployment("b", changed, held, bySequence())},
			wantActive: "a", wantHeldBy: map[string]string{"shop/a": "shop/order", "shop/b": "shop/order"},
			wantDegraded: v1.ReasonHeldByPodSequence,
			wantMessage:  `shop/a is active, but its pods are held by PodSequence shop/order until group 1/2 "Database" is passed, and this group needs shop/b`,
		},
		"it does not pass on to one that was skipped": {
			active: "a", states: S{activeA, record(deployment("b", changed), pending(long), onHold, skipped)},
			members:    M{deployment("a", rolling, bySequence("b")), deployment("b", changed, heldAsSkipped)},
			wantActive: "a", wantHeldBy: map[string]string{"shop/a": "shop/order"}, wantDegraded: v1.ReasonRolloutTimedOut, wantMessage: "and this group needs shop/b",
		},
		"it does not pass on to one that its owner paused": {
			active: "a", states: S{activeA, record(deployment("b", changed), pending(long))},
			members:    M{deployment("a", rolling, bySequence("b")), deployment("b", changed, pausedByItsOwner)},
			wantActive: "a", wantHeldBy: map[string]string{"shop/a": "shop/order"}, wantDegraded: v1.ReasonPausedByOwner,
		},
		"it does not pass on from one that its owner paused": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolling, pausedByItsOwner, bySequence("b")), deployment("b", changed, held)},
			wantActive: "a", wantHeldBy: map[string]string{"shop/a": "shop/order"}, wantDegraded: v1.ReasonPausedByOwner,
		},
		"it does not pass on while one that somebody unpaused rolls out and is held, too": {
			active: "a", states: S{activeA, record(deployment("b", changed), pending(long), resumed), record(deployment("c", changed), pending(long), onHold)},
			members:    M{deployment("a", rolling, bySequence()), deployment("b", rolling, bySequence()), deployment("c", changed, held)},
			wantActive: "a", wantHeldBy: map[string]string{"shop/a": "shop/order", "shop/b": "shop/order"}, wantDegraded: v1.ReasonPauseReverted,
		},
		"an overlapping coordination has a turn, too": {
			active: "a", states: S{activeA, waitingB}, busy: "shop/x",
			members:    M{deployment("a", rolling, bySequence("b")), deployment("b", changed, held)},
			wantActive: "a", wantHeldBy: map[string]string{"shop/a": "shop/order"},
		},
		"one that has rolled out is held by nobody": {
			active: "a", states: S{activeA, waitingB},
			members:    M{deployment("a", rolled, bySequence("b")), deployment("b", changed, held)},
			wantActive: "b", wantUnpause: []string{"b"},
		},
		"the group needs what is paused elsewhere": {
			active: "a", states: S{activeA},
			members:    M{deployment("a", rolling, bySequence("z"))},
			wantActive: "a", wantHeldBy: map[string]string{"shop/a": "shop/order"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Coordination: coordination(tc.active, tc.states...), Members: tc.members, Busy: tc.busy, Now: noon}
			if tc.spec != nil {
				tc.spec(&in.Coordination.Spec)
			}
			got := Decide(in)
			assert.Equal(t, "shop/"+tc.wantActive, got.Status.ActiveDeployment)
			assert.Equal(t, tc.wantPause, names(got.Pause), "paused")
			assert.Equal(t, tc.wantUnpause, names(got.Unpause), "unpaused")
			if tc.wantAgain == 0 {
				assert.Zero(t, got.Again)
			} else {
				assert.Equal(t, noon.Add(tc.wantAgain), got.Again)
			}
			for _, state := range got.Status.DeploymentStates {
				assert.Equal(t, tc.wantHeldBy[state.Name], state.HeldBy, state.Name)
			}
			degraded := meta.FindStatusCondition(got.Status.Conditions, v1.ConditionDegraded)
			require.NotNil(t, degraded)
			if tc.wantDegraded == "" {
				assert.Equal(t, v1.ReasonAsExpected, degraded.Reason, degraded.Message)
				return
			}
			assert.Equal(t, tc.wantDegraded, degraded.Reason)
			assert.Contains(t, degraded.Message, tc.wantMessage)
		})
	}
}

func TestAnActiveDeploymentThatIsHeldIsReported(t *testing.T) {
	in := Input{
		Coordination: coordination("a", record(deployment("a", changed), pending(long), started(0))),
		Members:      []Member{deployment("a", rolling, bySequence())}, Now: noon,
	}
	progressing := meta.FindStatusCondition(Decide(in).Status.Conditions, v1.ConditionProgressing)
	require.NotNil(t, progressing)
	assert.Equal(t, v1.ReasonDeploymentRollingOut, progressing.Reason)
	assert.Equal(t, `the active Deployment is shop/a; its new pods are held by PodSequence shop/order until group 1/2 "Database" is passed`, progressing.Message)
}

// When the needed Deployment waits for a turn of the same set of coordinations, it need not match this one.
func TestOverlappingCoordinationsReportWhatThePodSequenceNeeds(t *testing.T) {
	in := Input{
		Coordination: coordination("a", record(deployment("a", changed), pending(long), started(0))), Overlapping: []string{"other"},
		Members: []Member{deployment("a", rolling, bySequence("z"))}, Now: noon,
	}
	degraded := meta.FindStatusCondition(Decide(in).Status.Conditions, v1.ConditionDegraded)
	require.NotNil(t, degraded)
	assert.Contains(t, degraded.Message, "and this group needs shop/z")
}

// podHolder holds pods by their label.
type podHolder map[string]sequence.Hold

func (h podHolder) WouldHold(pods ...*corev1.Pod) (sequence.Hold, bool) {
	return h[pods[0].Namespace+"/"+pods[0].Labels["app"]], true
}

func TestPodsOfATemplateAreAskedFor(t *testing.T) {
	a := deployment("a").Deployment
	a.Spec.Template.Labels = map[string]string{"app": "api"}
	want := sequence.Hold{Sequence: types.NamespacedName{Namespace: "shop", Name: "order"}}
	assert.Equal(t, want, (&reconciler{holder: podHolder{"shop/api": want}}).wouldHold(a))
	assert.Zero(t, (&reconciler{}).wouldHold(a), "without PodSequences nothing is held")
}

func TestHoldsAskForTheCoordinationsOfANamespace(t *testing.T) {
	holds := NewHolds()
	holds.Changed("early") // before the controller runs
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	ctx, cancel := context.WithCancel(t.Context())
	err := holds.source(func(q workqueue.TypedRateLimitingInterface[reconcile.Request], namespace string) {
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: "shop"}})
	}).Start(ctx, queue)
	require.NoError(t, err)
	for _, namespace := range []string{"early", "late"} {
		if namespace == "late" {
			holds.Changed(namespace)
		}
		request, _ := queue.Get()
		assert.Equal(t, types.NamespacedName{Namespace: namespace, Name: "shop"}, request.NamespacedName)
		queue.Done(request)
	}
	cancel()
	assert.Eventually(t, holds.namespaces.ShuttingDown, time.Minute, time.Millisecond)
}

func TestTheControllerWaitsAtItsStartForWhatHoldsPods(t *testing.T) {
	tests := map[string]struct {
		after time.Duration // until it is known, or the controller is stopped
		stop  bool
		want  time.Duration
	}{
		"until it is known":                       {after: time.Second, want: time.Second},
		"no longer than its patience":             {after: time.Hour, want: startPatience},
		"no longer than the controller is to run": {after: time.Second, stop: true, want: time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				known := make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				happens := func() { close(known) }
				if tc.stop {
					happens = cancel
				}
				defer time.AfterFunc(tc.after, happens).Stop()
				began := time.Now()
				require.NoError(t, holdSource{known: known, patience: startPatience}.WaitForSync(ctx))
				assert.Equal(t, tc.want, time.Since(began))
			})
		})
	}
}
