package sequence

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// While the controller runs, status counts all pods that started too early, and lists the first hundred. Only these survive its restart.
func TestStatusOfManyPodsThatStartedTooEarlyIsSmall(t *testing.T) {
	const pods = 300
	installed := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	name := func(i int) string { return fmt.Sprintf("%s-%03d", strings.Repeat("p", 249), i) }
	withPods := func() answering {
		engine := newEngine()
		engine.Tick(installed.Add(time.Minute))
		for i := range pods {
			pod := makePod(name(i), "1").Label("tier", "app").Node("node").Obj()
			pod.CreationTimestamp = installed
			engine.ApplyPod(pod)
		}
		return engine
	}
	ps := MakeSequence(oracleNamespace, "shop").UID("shop").Label("Database", "tier", "db").Label("Application", "tier", "app").Obj()
	ps.CreationTimestamp = installed

	engine := withPods()
	engine.ApplySequence(ps)
	status, size := statusSize(t, engine, "shop")
	assert.Less(t, size, maxStatusSize)
	require.NotNil(t, status.StartedOutOfOrder)
	assert.EqualValues(t, pods, status.StartedOutOfOrder.Total)
	require.Len(t, status.StartedOutOfOrder.Pods, v1alpha1.MaxListedPods)
	assert.Equal(t, name(0), status.StartedOutOfOrder.Pods[0])

	recorded := ps.DeepCopy()
	recorded.Status, recorded.ResourceVersion = status, "2"
	engine.ApplySequence(recorded)
	status, _ = statusSize(t, engine, "shop")
	assert.EqualValues(t, pods, status.StartedOutOfOrder.Total, "that it is recorded changes nothing")

	restarted := withPods()
	restarted.ApplySequence(recorded)
	status, _ = statusSize(t, restarted, "shop")
	assert.EqualValues(t, v1alpha1.MaxListedPods, status.StartedOutOfOrder.Total, "the others are forgotten")
	assert.Equal(t, recorded.Status.StartedOutOfOrder.Pods, status.StartedOutOfOrder.Pods)
}
