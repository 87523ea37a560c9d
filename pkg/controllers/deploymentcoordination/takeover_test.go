package deploymentcoordination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "example.com/podsequence/apis/apps/v1"
)

// kube-deployment-coordinator, of whose API ours is, leaves every Deployment paused but for the active one, and no mark. Its
// status has no UIDs.
func TestTakeOverWhatAnotherOperatorLeft(t *testing.T) {
	w := newWorld(t, 1)
	w.quiet = true
	for _, name := range []string{"a", "b", "c", "d"} {
		d := w.deployment(name)
		d.Spec.Paused = name != "c"
		if name != "d" {
			setTemplate(d, "second")
			d.Generation++
		}
		require.NoError(t, w.client.Update(w.ctx, d))
	}
	w.sync(w.deployment("c"), false) // its rollout is under way
	w.sync(w.deployment("c"), false)
	var c v1.DeploymentCoordination
	require.NoError(t, w.client.Get(w.ctx, ofShop, &c))
	c.Status = v1.DeploymentCoordinationStatus{ActiveDeployment: "shop/c", Deployments: []string{"shop/a", "shop/b", "shop/c", "shop/d"}}
	for _, name := range c.Status.Deployments {
		c.Status.DeploymentStates = append(c.Status.DeploymentStates, v1.DeploymentState{Name: name, Generation: 2, HasPendingChanges: name != "shop/d"})
	}
	require.NoError(t, w.client.Status().Update(w.ctx, &c))
	w.reconcileAll()
	assert.Equal(t, "shop/c", w.status().ActiveDeployment, "it rolls")
	reason, message := w.degraded()
	assert.Equal(t, v1.ReasonPausedByOwner, reason)
	assert.Contains(t, message, "shop/a, shop/b; unpause them")
	assert.Contains(t, message, "kubectl annotate deployments --namespace shop apps.containerinfra.nl/paused-by=shop NAME...")

	for _, name := range []string{"a", "b", "c", "d"} { // which is what the command does
		d := w.deployment(name)
		d.Annotations = map[string]string{v1.PausedByAnnotation: "shop"}
		require.NoError(t, w.client.Update(w.ctx, d))
	}
	w.reconcileAll()
	assert.False(t, w.deployment("d").Spec.Paused, "it has nothing to roll out")
	assert.True(t, w.deployment("a").Spec.Paused)
	for range 12 {
		w.deploymentController(true)
		w.check("the Deployment controller")
		w.pass(2 * time.Second)
		w.check("a reconcile")
	}
	assert.True(t, meta.IsStatusConditionTrue(w.status().Conditions, v1.ConditionReady))
	for _, name := range []string{"a", "b", "c", "d"} {
		d := w.deployment(name)
		assert.False(t, d.Spec.Paused, name)
		assert.Empty(t, d.Annotations, name)
		assert.Equal(t, image(d), w.rolledOut[name])
	}
}
