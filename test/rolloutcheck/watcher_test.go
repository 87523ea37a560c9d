package rolloutcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/test/revisions/revisionstest"
)

func TestWatcherSeesWhatHappensWhileItIsCutOff(t *testing.T) {
	etcd := revisionstest.StartEtcd(t)
	key := func(name string) string { return "/registry/deployments/shop/" + name }
	// Every generation has another template, and is not rolled out.
	deployment := func(name string, generation int64) *appsv1.Deployment {
		d := &appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Generation: generation},
		}
		d.Spec.Template.Spec.Hostname = string(rune('a' + generation))
		return d
	}
	complete := func(d *appsv1.Deployment) *appsv1.Deployment {
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
		return d
	}
	etcd.Put(key("a"), complete(deployment("a", 1)))
	etcd.Put(key("b"), complete(deployment("b", 1)))
	w, err := Start(t.Context(), etcd.Config())
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	etcd.Put(key("a"), deployment("a", 2))
	etcd.Cut()
	etcd.Put(key("b"), deployment("b", 2))
	etcd.Delete(key("b"))
	etcd.Reconnect()
	etcd.Put(key("a"), complete(deployment("a", 2)))

	verdict, err := w.VerdictFor(t.Context(), "shop")
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, verdict.Order())
	assert.Len(t, verdict.Overlaps, 1)
	require.Len(t, verdict.Rollouts, 2)
	assert.True(t, verdict.Rollouts[0].Complete)
	assert.Equal(t, "5", verdict.Rollouts[1].From)
	assert.Equal(t, "6", verdict.Rollouts[1].To)

	w.Stop()
	_, err = w.VerdictFor(t.Context(), "shop")
	assert.ErrorContains(t, err, "the watch of etcd was stopped")
}
