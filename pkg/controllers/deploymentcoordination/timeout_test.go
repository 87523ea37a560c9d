package deploymentcoordination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	v1 "example.com/podsequence/apis/apps/v1"
)

func TestADeploymentThatIsPassedOverWhileItIsNotReadyIsNotSaidToBe(t *testing.T) {
	w, _ := inTheWait(t)
	recorder := events.NewFakeRecorder(100)
	w.reconciler.recorder = recorder
	var c v1.DeploymentCoordination
	require.NoError(t, w.client.Get(w.ctx, ofShop, &c))
	c.Spec.RolloutTimeoutSeconds, c.Spec.OnTimeout = new(int32(900)), v1.TimeoutSkip
	require.NoError(t, w.client.Update(w.ctx, &c))
	var pod corev1.Pod
	require.NoError(t, w.client.Get(w.ctx, types.NamespacedName{Namespace: "shop", Name: "a-2"}, &pod))
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	require.NoError(t, w.client.Status().Update(w.ctx, &pod))
	w.pass(20 * time.Minute)
	require.Equal(t, "shop/b", w.status().ActiveDeployment)
	events := sent(recorder)
	assert.Zero(t, events[v1.EventActiveDeploymentReady])
	assert.Equal(t, 1, events[v1.ReasonRolloutTimedOut])
}
