package deploymentcoordination

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "example.com/podsequence/apis/apps/v1"
)

// overlapping is a world in which the coordination shop matches a, b and d, and the coordination other b and c.
func overlappingWorld(t *testing.T) *world {
	w := newWorld(t, 1)
	w.quiet = true
	for name, labels := range map[string]map[string]string{
		"a": {"app": "shop"}, "b": {"app": "shop", "other": "x"}, "c": {"other": "x"}, "d": {"app": "shop"},
	} {
		d := w.deployment(name)
		d.Labels = labels
		require.NoError(t, w.client.Update(w.ctx, d))
	}
	other := coordination("")
	other.Name, other.UID = "other", "uid-other"
	other.Spec.LabelSelector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"other": "x"}}
	require.NoError(t, w.client.Create(w.ctx, other))
	w.reconcileAll()
	return w
}

// activeIn is the active Deployment of a coordination.
func (w *world) activeIn(name string) string {
	var c v1.DeploymentCoordination
	require.NoError(w, w.client.Get(w.ctx, types.NamespacedName{Namespace: "shop", Name: name}, &c))
	return c.Status.ActiveDeployment
}

// finish makes the Deployment controller roll out a Deployment that is not paused.
func (w *world) finish(name string) {
	w.sync(w.deployment(name), true)
	w.sync(w.deployment(name), true)
	require.Equal(w, image(w.deployment(name)), w.rolledOut[name])
}

func TestNothingStartsWhileAnOverlappingCoordinationHasOneThatItsOwnerTookOut(t *testing.T) {
	w := overlappingWorld(t)
	w.change(true, "a", "d")
	w.reconcileAll()
	w.pass(2 * time.Second)
	require.Equal(t, "shop/a", w.status().ActiveDeployment)
	w.change(true, "c")
	w.reconcileAll()
	c := w.deployment("c")
	takenOut(&Member{Deployment: c})
	require.NoError(t, w.client.Update(w.ctx, c))
	w.reconcileAll()
	w.finish("a")
	w.pass(2 * time.Second)
	w.pass(2 * time.Second)
	assert.True(t, w.deployment("d").Spec.Paused, "c rolls out")
	assert.Empty(t, w.status().ActiveDeployment)
	assert.Equal(t, "shop/c", w.activeIn("other"), "so it has the turn")
	w.finish("c")
	w.pass(2 * time.Second)
	w.pass(2 * time.Second)
	assert.Equal(t, "shop/d", w.status().ActiveDeployment)
}

func TestNothingStartsBeforeAnOverlappingCoordinationHasPausedWhatChanged(t *testing.T) {
	w := overlappingWorld(t)
	w.change(true, "a")
	w.reconcileAll()
	w.change(false, "c")
	w.reconciler.writer = interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			defer w.check("a write")
			return c.Patch(ctx, o, p, opts...)
		},
	})
	w.reconciler.namespaces.known["shop"].last = "other" // which comes after the other coordination
	w.pass(2 * time.Second)
	progressing := meta.FindStatusCondition(w.status().Conditions, v1.ConditionProgressing)
	assert.Equal(t, "waiting for shop/c, of an overlapping DeploymentCoordination, to roll out", progressing.Message)
	w.pass(2 * time.Second)
	assert.True(t, w.deployment("c").Spec.Paused)
	assert.Equal(t, "shop/a", w.status().ActiveDeployment)
}

// If each kept the other from having the turn, no time-out would count for either.
func TestOfTwoThatRollOutInOverlappingCoordinationsOneHasTheTurn(t *testing.T) {
	w := overlappingWorld(t)
	w.change(true, "a", "c")
	w.reconcileAll()
	for _, name := range []string{"a", "c"} {
		d := w.deployment(name)
		takenOut(&Member{Deployment: d})
		require.NoError(t, w.client.Update(w.ctx, d))
	}
	w.pass(2 * time.Second)
	w.pass(2 * time.Second)
	assert.Equal(t, "shop/c", w.activeIn("other"))
	assert.Empty(t, w.status().ActiveDeployment)
	w.finish("c")
	w.pass(2 * time.Second)
	w.pass(2 * time.Second)
	assert.Equal(t, "shop/a", w.status().ActiveDeployment)
}

func TestARolloutGoesOnWhenAnotherCoordinationTakesOver(t *testing.T) {
	w := overlappingWorld(t)
	w.change(true, "c")
	w.reconcileAll()
	w.pass(2 * time.Second)
	require.Equal(t, "shop/c", w.activeIn("other"))
	w.change(true, "d")
	w.pass(2 * time.Second)
	w.change(true, "b")
	w.pass(2 * time.Second)
	w.finish("c")
	w.reconciler.namespaces.known["shop"].last = "shop" // the other one comes first
	w.pass(2 * time.Second)
	require.Equal(t, "shop/b", w.activeIn("other"))
	w.sync(w.deployment("b"), false)
	w.sync(w.deployment("b"), false)

	var other v1.DeploymentCoordination
	require.NoError(t, w.client.Get(w.ctx, types.NamespacedName{Namespace: "shop", Name: "other"}, &other))
	require.NoError(t, w.client.Delete(w.ctx, &other))
	w.pass(2 * time.Second)
	w.pass(2 * time.Second)
	assert.False(t, w.deployment("b").Spec.Paused, "it is halfway")
	assert.Equal(t, "shop/b", w.status().ActiveDeployment)
	assert.True(t, w.deployment("d").Spec.Paused, "though it has waited longer")
}

// The status of the coordination that it comes from is written without it, and that of the one that it comes to cannot be written.
func TestWhatIsKnownOfADeploymentSurvivesThatItPassesToAnotherCoordination(t *testing.T) {
	w := overlappingWorld(t)
	label := func(labels map[string]string) {
		b := w.deployment("b")
		b.Labels = labels
		require.NoError(t, w.client.Update(w.ctx, b))
	}
	label(map[string]string{"app": "shop"})
	w.change(true, "a", "b")
	w.reconcileAll()
	w.pass(2 * time.Second)
	of := func(name string) *v1.DeploymentState {
		var c v1.DeploymentCoordination
		require.NoError(t, w.client.Get(w.ctx, types.NamespacedName{Namespace: "shop", Name: name}, &c))
		return recordsOf(&c.Status)[w.deployment("b").UID]
	}
	before := of("shop")
	require.NotNil(t, before)
	require.NotNil(t, before.PendingSince)

	label(map[string]string{"app": "shop", "other": "x"})
	writer, refused := w.reconciler.writer, errors.New("refused")
	w.reconciler.writer = interceptor.NewClient(w.client, interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			if o.GetName() == "other" {
				return refused
			}
			return c.SubResource(sub).Update(ctx, o, opts...)
		},
	})
	for turns := 0; of("shop") != nil; turns++ {
		require.Less(t, turns, 10, "the coordination that it comes from still has it")
		w.reconciler.namespaces.known["shop"].last = "other" // which comes after the other coordination
		w.reconciler.namespaces.note("shop", true)
		w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
		if _, err := w.reconciler.Reconcile(w.ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop"}}); err != nil {
			require.ErrorIs(t, err, refused)
		}
	}
	w.reconciler.writer = writer
	w.pass(2 * time.Second)
	after := of("other")
	require.NotNil(t, after)
	assert.Equal(t, before.PendingSince, after.PendingSince, "it has waited as long as before")
	assert.Equal(t, before.RolledOutTemplateHash, after.RolledOutTemplateHash)
}
