package deploymentcoordination

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "example.com/podsequence/apis/apps/v1"
)

// The policy pauses Deployments for a coordination from the moment on in which the API server has it.
func TestNothingIsReleasedByACacheThatLags(t *testing.T) {
	c, live := newCrowd(t), newCrowd(t).shelf
	c.fill("shop", 1, 2)
	live.fill("shop", 1, 2)
	c.live = live
	unseen := c.coordinations["shop"]
	c.coordinations["shop"] = nil
	isPaused := func() (paused []bool) {
		for i := range c.deployments["shop"] {
			paused = append(paused, c.deployments["shop"][i].Spec.Paused)
		}
		return paused
	}
	for i := range c.deployments["shop"] {
		held(&Member{Deployment: &c.deployments["shop"][i]})
		c.change("shop", i)
	}
	c.settle("shop")
	assert.Equal(t, []bool{true, true}, isPaused())
	assert.Equal(t, 1, live.requests, "one for both")

	c.coordinations["shop"] = unseen
	c.event(ofCoordination, &unseen[0])
	c.settle("shop")
	assert.Equal(t, []bool{true, true}, isPaused())

	t.Log("and then it is deleted")
	c.coordinations["shop"], live.coordinations["shop"] = nil, nil
	c.event(ofCoordination, &unseen[0])
	c.settle("shop")
	assert.Equal(t, []bool{true, true}, isPaused(), "another may come")
	c.clock.SetTime(c.clock.Now().Add(handOver))
	c.settle("shop")
	assert.Equal(t, []bool{false, false}, isPaused())
}

func TestWhatWasPausedIsReleasedWhenTheDefinitionIsGone(t *testing.T) {
	for name, err := range map[string]error{
		"and known to be":     &meta.NoKindMatchError{GroupKind: v1.DeploymentCoordinationKind.GroupKind()},
		"and not known to be": apierrors.NewNotFound(v1.DeploymentCoordinationResource.GroupResource(), ""),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t)
			c.fill("shop", 0, 1)
			held(&Member{Deployment: &c.deployments["shop"][0]})
			c.live = interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return err },
			})
			c.settle("shop")
			assert.False(t, c.deployments["shop"][0].Spec.Paused)
		})
	}
}

// The policy keeps paused what waits, and allows only the ServiceAccount of the controller to unpause it. Here the controller runs as
// somebody else.
func TestTheTurnIsGivenByAControllerThatThePolicyDoesNotKnow(t *testing.T) {
	w := newWorld(t, 1)
	w.quiet = true
	w.reconciler.writer = interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			d, ok := o.(*appsv1.Deployment)
			if ok && !d.Spec.Paused && w.deployment(d.Name).Spec.Paused && len(d.Annotations) == 0 {
				*d = *w.deployment(d.Name)
				return nil
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	w.change(true, "a", "b")
	w.reconcileAll()
	for range 4 {
		w.pass(2 * time.Second)
		w.deploymentController(true)
	}
	for _, name := range []string{"a", "b"} {
		assert.Equal(t, "second", w.rolledOut[name])
		assert.Empty(t, w.deployment(name).Annotations)
	}
}

// Where there is no policy, or it fails.
func TestWhatSomebodyUnpausesBeforeItsTurnIsPausedAgain(t *testing.T) {
	for name, unpause := range map[string]func(*appsv1.Deployment){
		"paused: false": func(d *appsv1.Deployment) { d.Spec.Paused = false },
		"replaced":      func(d *appsv1.Deployment) { d.Spec.Paused, d.Annotations = false, nil },
	} {
		t.Run(name, func(t *testing.T) {
			w, recorder, _, _ := refusing(t, "nobody")
			w.change(true, "a", "b")
			w.reconcileAll()
			w.pass(2 * time.Second)
			require.Equal(t, "shop/a", w.status().ActiveDeployment)
			for range 3 {
				b := w.deployment("b")
				unpause(b)
				require.NoError(t, w.client.Update(w.ctx, b))
				w.reconcileAll()
				assert.True(t, w.deployment("b").Spec.Paused)
				assert.Equal(t, "shop", w.deployment("b").Annotations[v1.PausedByAnnotation])
			}
			assert.False(t, w.status().DeploymentStates[1].Resumed)
			assert.Equal(t, 3, sent(recorder)[v1.ReasonPauseReverted], "the recorder counts those that are alike")
		})
	}
}

// What is left of a coordination that is gone waits for another to come for it. What happens meanwhile must not have the namespace looked
// at without an end.
func TestANamespaceIsNotLookedAtWithoutAnEndForWhatItCannotRelease(t *testing.T) {
	for name, happens := range map[string]func(c *crowd, live *shelf){
		"Deployments that are being deleted": func(c *crowd, _ *shelf) {
			for i := range 2 {
				c.deployments["shop"][i].DeletionTimestamp = at(0)
			}
		},
		"a cache that lags": func(_ *crowd, live *shelf) { live.fill("shop", 2, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			c, live := newCrowd(t), newCrowd(t).shelf
			c.fill("shop", 1, 2)
			c.coordinations["shop"][0].Name = "other"
			c.coordinations["shop"][0].Spec.LabelSelector.MatchLabels["app"] = "other"
			gone := coordination("")
			c.coordinations["shop"] = append(c.coordinations["shop"], *gone)
			live.coordinations["shop"] = c.coordinations["shop"][:1]
			c.live = live
			for i := range c.deployments["shop"] {
				held(&Member{Deployment: &c.deployments["shop"][i]})
				c.change("shop", i)
			}
			c.settle("shop")
			c.coordinations["shop"] = c.coordinations["shop"][:1]
			live.coordinations["shop"] = c.coordinations["shop"]
			c.event(ofCoordination, gone)
			c.settle("shop")

			happens(c, live)
			c.event(ofDeployment, &c.deployments["shop"][0])
			c.clock.SetTime(c.clock.Now().Add(handOver))
			live.requests = 0
			looks := 1
			for ; looks < 50; looks++ {
				result, err := c.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop"}})
				require.NoError(t, err)
				if result.RequeueAfter != time.Nanosecond {
					break
				}
			}
			assert.Less(t, looks, 5)
			assert.Less(t, live.requests, 5, "requests to the API server")
		})
	}
}
