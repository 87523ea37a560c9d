package sequence

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// While the controller runs, status counts all pods that started too early, and lists the first hundred. Only these survive its restart.
func TestStatusOfManyPodsThatStartedTooEarlyIsSmall(t *testing.T) {
	const pods = 300
	installed := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	name := func(i int) string { return fmt.Sprintf("%s-%03d", strings.Repeat("p", 249), i) }
	withPods := func() recording {
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

// Status has names only, and a StatefulSet gives a name again.
func TestARestartTellsAPodThatStartedTooEarlyFromItsSuccessor(t *testing.T) {
	t.Parallel()
	pod := func(name, uid, scheduler string, bound int, conditions ...corev1.PodCondition) *corev1.Pod {
		p := makePod(name, fmt.Sprint(10+bound)).UID(uid).Label("tier", name).SchedulerName(scheduler).Node("node").Obj()
		p.CreationTimestamp, p.Status.Conditions = metav1.NewTime(inSecond(bound)), conditions
		return p
	}
	const another = "default-scheduler"
	ps := MakeSequence(oracleNamespace, "shop").UID("shop").Label("Database", "tier", "db").Label("Web", "tier", "web").Obj()
	ps.CreationTimestamp = metav1.NewTime(inSecond(0))
	database := pod("db", "db", oracleScheduler, 1, readyIn(5)...)

	engine := newEngine()
	engine.Tick(inSecond(1))
	engine.ApplySequence(ps)
	engine.ApplyPod(pod("db", "db", oracleScheduler, 1))
	engine.Tick(inSecond(2))
	engine.ApplyPod(pod("web", "web", another, 2))
	engine.Tick(inSecond(5))
	database.ResourceVersion = "20"
	engine.ApplyPod(database)
	recorded := ps.DeepCopy()
	recorded.Status, _ = statusSize(t, engine, "shop")
	require.NotNil(t, recorded.Status.StartedOutOfOrder)
	require.Equal(t, []string{"web"}, recorded.Status.StartedOutOfOrder.Pods)
	recorded.ManagedFields = []metav1.ManagedFieldsEntry{{Subresource: "status", Time: new(metav1.NewTime(inSecond(5)))}}

	for name, test := range map[string]struct {
		web  *corev1.Pod
		want []string
	}{
		"the pod itself stays on the list":                                         {pod("web", "web", another, 2), []string{"web"}},
		"a pod that was bound in the second in which status was written may be it": {pod("web", "other", another, 5), []string{"web"}},
		"a pod that was bound later is another one":                                {pod("web", "other", another, 6), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			restarted := newEngine()
			restarted.Tick(inSecond(10))
			restarted.ApplyPod(database)
			restarted.ApplyPod(test.web)
			restarted.ApplySequence(recorded)
			status, _ := statusSize(t, restarted, "shop")
			var got []string
			if status.StartedOutOfOrder != nil {
				got = status.StartedOutOfOrder.Pods
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// The API gives times in whole seconds, and the engine's clock does not.
func TestAPodThatIsBoundInTheSecondOfARestartIsChecked(t *testing.T) {
	ps := MakeSequence(oracleNamespace, "shop").UID("shop").Label("Database", "tier", "db").Label("Web", "tier", "web").Obj()
	ps.CreationTimestamp, ps.Status.ObservedGeneration = metav1.NewTime(inSecond(0)), 1
	engine := newEngine()
	engine.Tick(inSecond(10).Add(600 * time.Millisecond))
	engine.ApplyPod(makePod("db", "2").Label("tier", "db").Node("node").Obj())
	web := makePod("web", "3").Label("tier", "web").SchedulerName("default-scheduler").Obj()
	web.CreationTimestamp = metav1.NewTime(inSecond(9))
	engine.ApplyPod(web)
	engine.ApplySequence(ps)
	bound := web.DeepCopy()
	bound.ResourceVersion, bound.Spec.NodeName = "4", "node"
	bound.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(inSecond(10))}}
	engine.ApplyPod(bound)
	status, _ := statusSize(t, engine, "shop")
	require.NotNil(t, status.StartedOutOfOrder)
	assert.Equal(t, []string{"web"}, status.StartedOutOfOrder.Pods)
}
