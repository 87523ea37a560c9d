package deploymentcoordination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "example.com/podsequence/apis/apps/v1"
)

// replaced is a world in which a rolls out and b and c wait, and whose coordination is deleted then.
func replaced(t *testing.T) (w *world, paused func() string) {
	w = newWorld(t, 1)
	w.quiet = true
	w.reconcileAll() // which puts the finalizer on it
	w.change(true, "a", "b", "c")
	w.reconcileAll()
	w.pass(2 * time.Second)
	require.Equal(t, "shop/a", w.status().ActiveDeployment)
	w.sync(w.deployment("a"), false)
	w.sync(w.deployment("a"), false)
	paused = func() (names string) {
		for _, name := range []string{"a", "b", "c", "d"} {
			if w.deployment(name).Spec.Paused {
				names += name
			}
		}
		return names
	}
	require.Equal(t, "bc", paused())
	w.deleteCoordination()
	return w, paused
}

func (w *world) deleteCoordination() {
	c := coordination("")
	require.NoError(w, w.client.Delete(w.ctx, c))
	w.reconcileAll()
	assert.True(w, apierrors.IsNotFound(w.client.Get(w.ctx, ofShop, c)), "the finalizer is off: else none of this name could be created")
}

// succeed creates a coordination like the one before.
func (w *world) succeed(name string) {
	c := coordination("")
	c.Name, c.UID = name, "uid-2"
	require.NoError(w, w.client.Create(w.ctx, c))
	w.reconcileAll()
}

func TestAReplacedCoordinationHandsOver(t *testing.T) {
	for name, successor := range map[string]string{"under the same name": "shop", "under another name": "renamed"} {
		t.Run(name, func(t *testing.T) {
			w, paused := replaced(t)
			assert.Equal(t, "bc", paused())
			w.pass(5 * time.Second)
			assert.Equal(t, "bc", paused())
			w.succeed(successor)
			w.pass(handOver)
			assert.Equal(t, "bc", paused(), "a rolls out")
			assert.Equal(t, successor, w.deployment("b").Annotations[v1.PausedByAnnotation])
			for range 6 {
				w.deploymentController(true)
				w.check("a turn")
				w.pass(2 * time.Second)
			}
			assert.Empty(t, paused())
			assert.Equal(t, "second", w.rolledOut["c"])
		})
	}
}

// Such as one that is deleted in the foreground.
func TestADeletionThatTakesLong(t *testing.T) {
	w := newWorld(t, 1)
	w.quiet = true
	var c v1.DeploymentCoordination
	require.NoError(t, w.client.Get(w.ctx, ofShop, &c))
	c.Finalizers = []string{"example.com/mine"}
	require.NoError(t, w.client.Update(w.ctx, &c))
	w.change(true, "b")
	w.reconcileAll()
	require.NoError(t, w.client.Delete(w.ctx, &c))
	w.reconcileAll()
	for range 6 {
		assert.Equal(t, handOver, w.next(handOver))
		assert.True(t, w.deployment("b").Spec.Paused)
	}
	w.pass(handOver)
	assert.False(t, w.deployment("b").Spec.Paused, "it is not waited for without end")
	require.NoError(t, w.client.Get(w.ctx, ofShop, &c))
	assert.Equal(t, []string{"example.com/mine"}, c.Finalizers)
}

func TestWhatADeletedCoordinationPausedIsUnpaused(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(w *world)
		want    time.Duration
	}{
		"when no other has come": {func(*world) {}, handOver},
		"at once when it did not select it any more": {func(w *world) {
			w.succeed("shop")
			for _, name := range []string{"b", "c"} {
				d := w.deployment(name)
				d.Labels = nil
				require.NoError(w, w.client.Update(w.ctx, d))
			}
		}, 0},
		"at once by a controller that has not seen it": {(*world).restart, 0},
		"when the one that came is deleted as well": {func(w *world) {
			w.pass(5 * time.Second)
			w.succeed("shop")
			w.pass(5 * time.Second)
			w.deleteCoordination()
		}, handOver},
	} {
		t.Run(name, func(t *testing.T) {
			w, paused := replaced(t)
			tc.happens(w)
			if tc.want > 0 {
				assert.Equal(t, handOver, w.next(0))
				w.pass(tc.want - time.Second)
				assert.Equal(t, "bc", paused())
			}
			w.pass(time.Second)
			assert.Empty(t, paused())
			assert.Empty(t, w.deployment("b").Annotations)
		})
	}
}
