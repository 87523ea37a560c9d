package deploymentcoordination

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "example.com/podsequence/apis/apps/v1"
)

// ofShop is the key of the coordination of the world.
var ofShop = types.NamespacedName{Namespace: "shop", Name: "shop"}

func (w *world) status() v1.DeploymentCoordinationStatus {
	var c v1.DeploymentCoordination
	require.NoError(w, w.client.Get(w.ctx, ofShop, &c))
	return c.Status
}

// inTheWait is a world in which a has rolled out five minutes before noon with two pods, and must have been ready for ten;
// b waits. It returns how often pods were listed.
func inTheWait(t *testing.T) (*world, *int) {
	w := newWorld(t, 1)
	w.quiet = true
	var c v1.DeploymentCoordination
	require.NoError(t, w.client.Get(w.ctx, ofShop, &c))
	c.Spec.MinReadySeconds = 600
	require.NoError(t, w.client.Update(w.ctx, &c))
	c.Status = coordination("a", record(Member{Deployment: w.deployment("a")}, started(-10*time.Minute), pending(-20*time.Minute))).Status
	require.NoError(t, w.client.Status().Update(w.ctx, &c))
	b := w.deployment("b")
	setTemplate(b, "second")
	held(&Member{Deployment: b})
	require.NoError(t, w.client.Update(w.ctx, b))
	w.pod("a-1", -5*time.Minute)
	w.pod("a-2", -5*time.Minute)
	lists := 0
	w.reconciler.live = interceptor.NewClient(w.client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, ok := l.(*corev1.PodList); ok {
				lists++
			}
			return c.List(ctx, l, opts...)
		},
	})
	w.clock.SetTime(noon.Add(-5 * time.Minute))
	w.reconcileAll()
	w.clock.SetTime(noon)
	require.Equal(t, "shop/a", w.status().ActiveDeployment)
	return w, &lists
}

// pod is one of the ReplicaSet of a that has been ready since then.
func (w *world) pod(name string, ready time.Duration) {
	pod := st.MakePod().Namespace("shop").Name(name).Label("app", "a").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj()
	pod.OwnerReferences = []metav1.OwnerReference{{UID: "uid-a-first", Controller: new(true)}}
	pod.Status.Conditions[0].LastTransitionTime = *at(ready)
	require.NoError(w, w.client.Create(w.ctx, pod))
}

func TestEventsDuringTheWaitAskForNoPods(t *testing.T) {
	w, lists := inTheWait(t)
	for range 50 { // events of whatever Deployment of the namespace
		w.reconcileAll()
	}
	assert.Equal(t, 1, *lists)

	t.Log("the end of the wait is no matter of what was known before")
	w.clock.SetTime(noon.Add(6 * time.Minute))
	w.reconcileAll()
	assert.Equal(t, 2, *lists)
	assert.Equal(t, "shop/b", w.status().ActiveDeployment)
}

// Its ReplicaSet may not have changed: pods are counted, and it was only for a moment.
func TestAPodThatWasUnreadyDuringTheWaitIsNoticedAtItsEnd(t *testing.T) {
	w, _ := inTheWait(t)
	var pod corev1.Pod
	require.NoError(t, w.client.Get(w.ctx, types.NamespacedName{Namespace: "shop", Name: "a-2"}, &pod))
	pod.Status.Conditions[0].LastTransitionTime = *at(0)
	require.NoError(t, w.client.Status().Update(w.ctx, &pod))
	w.clock.SetTime(noon.Add(6 * time.Minute))
	w.reconcileAll()
	assert.Equal(t, "shop/a", w.status().ActiveDeployment)
	w.clock.SetTime(noon.Add(10 * time.Minute))
	w.reconcileAll()
	assert.Equal(t, "shop/a", w.status().ActiveDeployment, "the wait counts from the next full second")
	w.clock.SetTime(noon.Add(10*time.Minute + time.Second))
	w.reconcileAll()
	assert.Equal(t, "shop/b", w.status().ActiveDeployment)
}

// An autoscaler adds pods again and again, and the last has no room.
func TestScalingDuringTheWaitDoesNotProlongIt(t *testing.T) {
	w, _ := inTheWait(t)
	a := w.deployment("a")
	a.Spec.Replicas = new(int32(4))
	a.Generation++
	require.NoError(t, w.client.Update(w.ctx, a))
	w.deploymentController(true)
	a = w.deployment("a")
	a.Status.AvailableReplicas = 3
	require.NoError(t, w.client.Status().Update(w.ctx, a))
	w.pod("a-3", time.Minute)
	w.clock.SetTime(noon.Add(6 * time.Minute))
	w.reconcileAll()
	assert.Equal(t, "shop/b", w.status().ActiveDeployment)
}

// A pod of the rollout is evicted: the one that takes its place is waited for, the one that has failed is not.
func TestAReplacedPodProlongsTheWait(t *testing.T) {
	w, _ := inTheWait(t)
	var pod corev1.Pod
	require.NoError(t, w.client.Get(w.ctx, types.NamespacedName{Namespace: "shop", Name: "a-2"}, &pod))
	pod.Status.Phase = corev1.PodFailed
	require.NoError(t, w.client.Status().Update(w.ctx, &pod))
	w.pod("a-3", 0)
	w.clock.SetTime(noon.Add(6 * time.Minute))
	w.reconcileAll()
	assert.Equal(t, "shop/a", w.status().ActiveDeployment)
	w.clock.SetTime(noon.Add(11 * time.Minute))
	w.reconcileAll()
	assert.Equal(t, "shop/b", w.status().ActiveDeployment)
}

// A pod is unready just when pods are asked for, and ready before the ReplicaSet's controller looks: the ReplicaSet stays as it is.
func TestAPodThatWasUnreadyAtTheEndOfTheWaitIsAskedForAgain(t *testing.T) {
	w, lists := inTheWait(t)
	var pod corev1.Pod
	require.NoError(t, w.client.Get(w.ctx, types.NamespacedName{Namespace: "shop", Name: "a-2"}, &pod))
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	require.NoError(t, w.client.Status().Update(w.ctx, &pod))
	again := w.next(6 * time.Minute)
	require.Equal(t, "shop/a", w.status().ActiveDeployment)
	assert.Equal(t, 10*time.Minute, again, "so long it has to be ready in any case")

	pod.Status.Conditions[0].Status, pod.Status.Conditions[0].LastTransitionTime = corev1.ConditionTrue, *at(6 * time.Minute)
	require.NoError(t, w.client.Status().Update(w.ctx, &pod))
	before := *lists
	for range 50 { // events of whatever Deployment of the namespace
		w.reconcileAll()
	}
	assert.Equal(t, before, *lists)
	w.pass(again)
	w.pass(time.Second)
	assert.Equal(t, "shop/b", w.status().ActiveDeployment)
}
