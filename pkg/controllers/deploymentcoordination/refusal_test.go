package deploymentcoordination

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "example.com/podsequence/apis/apps/v1"
)

// refusing is a world in which the API server refuses all writes of one Deployment, each time in other words.
func refusing(t *testing.T, name string) (w *world, recorder *events.FakeRecorder, attempts *int, allow func()) {
	w = newWorld(t, 1)
	w.quiet = true
	recorder = events.NewFakeRecorder(1000)
	w.reconciler.recorder = recorder
	attempts = new(int)
	allow = func() { name = "" }
	w.reconciler.writer = interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if d, ok := o.(*appsv1.Deployment); ok && d.Name == name {
				*attempts++
				return apierrors.NewForbidden(appsv1.Resource("deployments"), name, fmt.Errorf("denied for the %dth time", *attempts))
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	return w, recorder, attempts, allow
}

// change gives Deployments another template, as they are without the policy, or as the policy leaves them.
func (w *world) change(policy bool, names ...string) {
	for _, name := range names {
		d := w.deployment(name)
		setTemplate(d, "second")
		d.Generation++
		if policy {
			held(&Member{Deployment: d})
		}
		require.NoError(w, w.client.Update(w.ctx, d))
	}
}

func (w *world) degraded() (reason, message string) {
	degraded := meta.FindStatusCondition(w.status().Conditions, v1.ConditionDegraded)
	require.NotNil(w, degraded)
	return degraded.Reason, degraded.Message
}

// pass advances the clock and runs the reconciler.
func (w *world) pass(d time.Duration) {
	w.clock.SetTime(w.clock.Now().Add(d))
	w.reconcileAll()
}

func sent(recorder *events.FakeRecorder) map[string]int {
	reasons := map[string]int{}
	for len(recorder.Events) > 0 {
		var kind, reason string
		_, _ = fmt.Sscan(<-recorder.Events, &kind, &reason)
		reasons[reason]++
	}
	return reasons
}

func TestADeploymentThatCannotBePausedHasTheTurnAndTheOthersWait(t *testing.T) {
	w, recorder, attempts, _ := refusing(t, "b")
	w.change(false, "a", "b", "c")
	w.reconcileAll()
	status := w.status()
	assert.Equal(t, "shop/b", status.ActiveDeployment, "it rolls out, whatever we want")
	assert.True(t, w.deployment("a").Spec.Paused)
	assert.True(t, w.deployment("c").Spec.Paused, "it was tried after b had failed")
	assert.Equal(t, 1, *attempts)

	t.Log("and the others follow")
	for range 9 {
		w.deploymentController(true)
		w.pass(2 * time.Second)
	}
	assert.Empty(t, w.status().ActiveDeployment)
	for _, name := range []string{"a", "b", "c"} {
		assert.Equal(t, "second", w.rolledOut[name])
	}
	assert.Equal(t, 3, sent(recorder)[v1.EventDeploymentActivated])
}

func TestNothingIsActivatedWhileADeploymentCannotBePaused(t *testing.T) {
	w, recorder, attempts, allow := refusing(t, "c")
	w.change(true, "a", "b")
	w.reconcileAll()
	w.pass(2 * time.Second)
	require.Equal(t, "shop/a", w.status().ActiveDeployment)
	require.False(t, w.deployment("a").Spec.Paused)
	w.change(false, "c")
	w.reconcileAll()
	reason, message := w.degraded()
	assert.Equal(t, v1.ReasonPauseFailed, reason)
	assert.Contains(t, message, "could not pause shop/c; the API server answered")
	assert.Contains(t, message, "denied for the 1th time")
	for range 50 { // of whatever events of the namespace
		w.reconcileAll()
	}
	assert.Equal(t, 1, *attempts, "it is not tried again before its time")
	w.pass(time.Minute)
	assert.Equal(t, 2, *attempts)
	assert.Equal(t, 1, sent(recorder)[v1.ReasonPauseFailed], "it is reported once")

	t.Log("a has rolled out: c rolls, so b waits")
	w.sync(w.deployment("a"), true)
	w.sync(w.deployment("a"), true)
	w.pass(time.Minute)
	assert.Equal(t, "shop/c", w.status().ActiveDeployment)
	assert.True(t, w.deployment("b").Spec.Paused)

	t.Log("once it can be paused it is like any other")
	allow()
	w.change(true, "c")
	w.pass(time.Minute)
	reason, _ = w.degraded()
	assert.Equal(t, v1.ReasonAsExpected, reason)
}

func TestASkippedDeploymentThatCannotBePausedKeepsTheTurn(t *testing.T) {
	w, _, _, allow := refusing(t, "nobody yet")
	var c v1.DeploymentCoordination
	require.NoError(t, w.client.Get(w.ctx, ofShop, &c))
	c.Spec.RolloutTimeoutSeconds, c.Spec.OnTimeout = new(int32(30)), v1.TimeoutSkip
	require.NoError(t, w.client.Update(w.ctx, &c))
	w.change(true, "a", "b")
	w.reconcileAll()
	w.pass(2 * time.Second)
	require.Equal(t, "shop/a", w.status().ActiveDeployment)
	allow()
	w.reconciler.writer = interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if _, ok := o.(*appsv1.Deployment); ok {
				return apierrors.NewInternalError(errors.New("the webhook does not answer"))
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	w.pass(time.Minute)
	assert.Equal(t, "shop/a", w.status().ActiveDeployment, "it still rolls out")
	assert.True(t, w.deployment("b").Spec.Paused)
	w.reconciler.writer = w.client
	w.pass(time.Minute)
	assert.Equal(t, "shop/b", w.status().ActiveDeployment)
	assert.True(t, w.deployment("a").Spec.Paused)
}

func TestADeploymentThatCannotBeUnpaused(t *testing.T) {
	w, recorder, attempts, allow := refusing(t, "a")
	w.change(true, "a", "b")
	w.reconcileAll()
	w.pass(2 * time.Second)
	assert.Equal(t, "shop/a", w.status().ActiveDeployment)
	reason, message := w.degraded()
	assert.Equal(t, v1.ReasonUnpauseFailed, reason)
	assert.Contains(t, message, "could not unpause shop/a; the API server answered")
	for range 50 {
		w.reconcileAll()
	}
	assert.Equal(t, 1, *attempts)
	w.pass(time.Minute)
	assert.Equal(t, 2, *attempts)
	assert.Equal(t, 1, sent(recorder)[v1.ReasonUnpauseFailed])
	allow()
	w.pass(time.Minute)
	w.reconcileAll()
	reason, _ = w.degraded()
	assert.Equal(t, v1.ReasonAsExpected, reason)
	assert.False(t, w.deployment("a").Spec.Paused)
	assert.Equal(t, 1, sent(recorder)[v1.EventDeploymentUnpaused])
}

// That the API server cannot be reached is no matter of a Deployment.
func TestAnAPIServerThatDoesNotAnswerHasRefusedNothing(t *testing.T) {
	w, recorder, _, _ := refusing(t, "nobody")
	w.change(true, "a")
	w.reconcileAll()
	w.reconciler.writer = interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return errors.New("connection refused")
		},
	})
	w.pass(2 * time.Second)
	reason, _ := w.degraded()
	assert.Equal(t, v1.ReasonAsExpected, reason)
	assert.Zero(t, sent(recorder)[v1.ReasonUnpauseFailed])
	w.reconciler.writer = w.client
	w.reconcileAll()
	assert.False(t, w.deployment("a").Spec.Paused, "it is tried again at the next event")
}

func TestADeploymentThatCannotBeReleasedIsReported(t *testing.T) {
	w, recorder, _, _ := refusing(t, "a")
	w.change(true, "a", "b")
	for _, name := range []string{"a", "b"} {
		d := w.deployment(name)
		d.Labels = nil
		require.NoError(t, w.client.Update(w.ctx, d))
	}
	w.reconcileAll()
	assert.False(t, w.deployment("b").Spec.Paused, "b has nothing to do with a")
	assert.Equal(t, 1, sent(recorder)[v1.ReasonUnpauseFailed])
}

// next advances the clock, runs the reconciler for one turn, and returns when it will come back if nothing happens.
func (w *world) next(d time.Duration) time.Duration {
	w.clock.SetTime(w.clock.Now().Add(d))
	w.reconciler.namespaces.note("shop", true)
	result, err := w.reconciler.Reconcile(w.ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop"}})
	require.NoError(w, err)
	return result.RequeueAfter
}

func TestThatItCouldNotBePausedDoesNotKeepADeploymentFromItsNextTurn(t *testing.T) {
	w, _, _, allow := refusing(t, "b")
	w.change(true, "a")
	w.reconcileAll()
	w.pass(2 * time.Second)
	w.change(false, "b")
	for range 12 { // until it is tried again after half a minute only
		w.pass(31 * time.Second)
	}
	w.deploymentController(true)
	w.deploymentController(true)
	w.reconcileAll()
	require.Equal(t, "second", w.rolledOut["b"])
	allow()
	d := w.deployment("b")
	setTemplate(d, "third")
	held(&Member{Deployment: d})
	require.NoError(t, w.client.Update(w.ctx, d))
	w.reconcileAll()
	w.pass(2 * time.Second)
	require.Equal(t, "shop/b", w.status().ActiveDeployment)
	assert.False(t, w.deployment("b").Spec.Paused, "it is its turn, and nothing more may happen that leads back to it")
}

func TestThatItCouldNotBeUnpausedDoesNotKeepADeploymentFromBeingPaused(t *testing.T) {
	w, _, attempts, allow := refusing(t, "a")
	var c v1.DeploymentCoordination
	require.NoError(t, w.client.Get(w.ctx, ofShop, &c))
	c.Spec.RolloutTimeoutSeconds, c.Spec.OnTimeout = new(int32(60)), v1.TimeoutSkip
	require.NoError(t, w.client.Update(w.ctx, &c))
	w.change(true, "a", "b")
	w.reconcileAll()
	w.pass(2 * time.Second)
	for w.status().ActiveDeployment == "shop/a" {
		require.Less(t, *attempts, 20)
		w.pass(5 * time.Second)
	}
	require.Equal(t, "shop/b", w.status().ActiveDeployment)
	allow()
	a := w.deployment("a")
	setTemplate(a, "third")
	a.Spec.Paused = false
	require.NoError(t, w.client.Update(w.ctx, a))
	w.reconcileAll()
	w.reconcileAll()
	assert.True(t, w.deployment("a").Spec.Paused, "it rolls out beside b")
	assert.False(t, w.status().DeploymentStates[0].Resumed, "nobody has resumed it")
}

func TestAMarkThatCannotBeTakenOffIsTriedAgain(t *testing.T) {
	w, _, _, allow := refusing(t, "a")
	a := w.deployment("a")
	a.Annotations = map[string]string{v1.PausedByAnnotation: "shop"}
	require.NoError(t, w.client.Update(w.ctx, a))
	assert.Equal(t, firstRetry, w.next(0))
	allow()
	assert.Zero(t, w.next(firstRetry))
	assert.Empty(t, w.deployment("a").Annotations)
}

// An admission webhook answers with the code that its author liked. No event would follow.
func TestAWebhookMayRefuseWithAnyCode(t *testing.T) {
	for name, reason := range map[string]metav1.StatusReason{
		"conflict": metav1.StatusReasonConflict, "not found": metav1.StatusReasonNotFound, "forbidden": metav1.StatusReasonForbidden,
	} {
		t.Run(name, func(t *testing.T) {
			w, _, _, _ := refusing(t, "nobody")
			w.reconcileAll()
			w.reconciler.writer = interceptor.NewClient(w.client, interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					if o.GetName() == "a" {
						return webhookerrors.ToStatusErr("locks.example.com", &metav1.Status{Reason: reason, Message: "there is a lock"})
					}
					return c.Patch(ctx, o, p, opts...)
				},
			})
			w.change(false, "a", "b")
			assert.NotZero(t, w.next(0), "it is tried again")
			assert.True(t, w.deployment("b").Spec.Paused)
			assert.Equal(t, "shop/a", w.status().ActiveDeployment, "it rolls out, whatever we want")
		})
	}
}
