package sequence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// A taint, or another label, takes a node from a DaemonSet and leaves its pod there; the deletion of the node does so for a while. The
// DaemonSet wants one pod less. The pod that is left must not stand in for one that is not ready.
func TestAPodOfADaemonSetWhereItIsNotDueStandsInForNoOther(t *testing.T) {
	engine := newEngine()
	engine.ApplyWorkload(agentSet("3", 2, 1, 2))
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Mode(v1alpha1.Continuous).
		Label("Agents", "app", "agent").Label("Web", "app", "web").Obj())
	engine.ApplyPod(agentOn("a", "5", corev1.ConditionTrue))
	engine.ApplyPod(agentOn("b", "6", corev1.ConditionFalse))
	web := makePod("web", "7").Label("app", "web").Obj()
	engine.ApplyPod(web)
	require.True(t, engine.Decide(web).Held)

	engine.ApplyWorkload(agentSet("9", 1, 0, 1))
	assert.True(t, engine.Decide(web).Held, "the agent of b is not ready")
	report, _ := engine.Report(shopKey)
	assert.Equal(t, "0 of 1 pods ready, the controller of DaemonSet agent counts 0 of the 1 that it wants as ready", report.Groups[0].Progress)
	engine.ApplyPod(agentOn("b", "10", corev1.ConditionTrue))
	assert.True(t, engine.Decide(web).Held, "its controller has not said so: the ready one may be that of a")
	engine.ApplyWorkload(agentSet("11", 1, 1, 1))
	assert.False(t, engine.Decide(web).Held)

	engine.ApplyWorkload(agentSet("12", 1, 1, 0))
	assert.True(t, engine.Decide(web).Held, "a rollout has begun, and no pod where it is due is of the newest revision")
	engine.RemovePod(agentOn("a", "13", corev1.ConditionTrue))
	engine.ApplyWorkload(agentSet("14", 1, 1, 1))
	assert.False(t, engine.Decide(web).Held)
}

// The taint took node a. The pod of b is not ready and goes; nothing is left to tell that the one of a is too many but the controller.
func TestAPodWhereADaemonSetIsNotDueStandsInForNoneThatIsGone(t *testing.T) {
	for name, goes := range map[string]func(recording){
		"deleted": func(e recording) { e.RemovePod(agentOn("b", "9", corev1.ConditionFalse)) },
		"being deleted": func(e recording) {
			p := agentOn("b", "9", corev1.ConditionFalse)
			p.DeletionTimestamp = new(metav1.Now())
			e.ApplyPod(p)
		},
		"evicted": func(e recording) {
			p := agentOn("b", "9", corev1.ConditionFalse)
			p.Status.Phase = corev1.PodFailed
			e.ApplyPod(p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			engine.ApplyWorkload(agentSet("3", 2, 1, 2))
			engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Label("Agents", "app", "agent").Label("Web", "app", "web").Obj())
			engine.ApplyPod(agentOn("b", "5", corev1.ConditionFalse))
			engine.ApplyPod(agentOn("a", "6", corev1.ConditionTrue))
			engine.ApplyPod(agentOn("c", "7", corev1.ConditionTrue))
			web := makePod("web", "8").Label("app", "web").Obj()
			engine.ApplyPod(web)
			require.True(t, engine.Decide(web).Held)
			goes(engine)
			assert.True(t, engine.Decide(web).Held)
			engine.ApplyPod(agentOn("b", "10", corev1.ConditionTrue))
			engine.ApplyWorkload(agentSet("11", 2, 2, 2))
			assert.False(t, engine.Decide(web).Held)
		})
	}
}

// The controller counts again whenever one of its pods turns ready.
func TestAPodOfADaemonSetCountsOnceItsControllerHasCountedIt(t *testing.T) {
	engine := newEngine()
	engine.ApplyWorkload(agentSet("1", 2, 0, 2))
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Mode(v1alpha1.Continuous).
		Label("Agents", "app", "agent").Label("Web", "app", "web").Obj())
	engine.ApplyPod(agentOn("a", "2", corev1.ConditionTrue))
	engine.ApplyPod(agentOn("b", "3", corev1.ConditionTrue))
	web := makePod("web", "4").Label("app", "web").Obj()
	engine.ApplyPod(web)
	assert.True(t, engine.Decide(web).Held)
	engine.ApplyWorkload(agentSet("5", 2, 2, 2))
	assert.False(t, engine.Decide(web).Held)
}

// The wait for a group is as long as since the last of those turned ready that may be the ones where the DaemonSet is due.
func TestAPodWhereADaemonSetIsNotDueDoesNotSaySinceWhen(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	for name, available := range map[string]string{"all": "", "one": "1"} {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			engine.Tick(start)
			ready := func(node, version string, since time.Duration) {
				p := agentOn(node, version, corev1.ConditionTrue)
				p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(start.Add(-since))
				engine.ApplyPod(p)
			}
			engine.ApplyWorkload(agentSet("3", 1, 1, 1))
			ready("a", "4", time.Hour)
			ready("b", "5", 5*time.Second)
			w := MakeSequence(oracleNamespace, "shop").UID("shop").Label("Agents", "app", "agent").Wait("60s")
			if available != "" {
				w.MinAvailable(available)
			}
			engine.ApplySequence(w.Label("Web", "app", "web").Obj())
			web := makePod("web", "8").Label("app", "web").Obj()
			engine.ApplyPod(web)
			assert.True(t, engine.Decide(web).Held)
			engine.Tick(start.Add(time.Minute))
			assert.False(t, engine.Decide(web).Held)
		})
	}
}

// Whichever is too many of those that are ready, the one that turned ready last may be needed.
func TestAWaitBeginsAnewWithOneMorePodOfADaemonSet(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	engine := newEngine()
	engine.Tick(start)
	ready := func(node, version string, since time.Duration) {
		p := agentOn(node, version, corev1.ConditionTrue)
		p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(start.Add(-since))
		engine.ApplyPod(p)
	}
	engine.ApplyWorkload(agentSet("3", 1, 1, 1))
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").
		Label("Agents", "app", "agent").Wait("60s").Label("Web", "app", "web").Obj())
	ready("a", "4", 50*time.Second)
	web := makePod("web", "5").Label("app", "web").Obj()
	engine.ApplyPod(web)
	ready("b", "6", 5*time.Second)
	engine.Tick(start.Add(30 * time.Second))
	assert.True(t, engine.Decide(web).Held)
	engine.Tick(start.Add(time.Minute))
	assert.False(t, engine.Decide(web).Held)
}

func agentSet(version string, desired, ready, updated int32) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: oracleNamespace, Name: "agent", UID: "agent", ResourceVersion: version, Generation: 1,
		Annotations: map[string]string{appsv1.DeprecatedTemplateGeneration: "1"},
	}}
	set.Spec.Template.Labels = map[string]string{"app": "agent"}
	set.Status = appsv1.DaemonSetStatus{
		ObservedGeneration: 1, DesiredNumberScheduled: desired, CurrentNumberScheduled: desired, UpdatedNumberScheduled: updated, NumberReady: ready,
	}
	return set
}

func agentOn(node, version string, ready corev1.ConditionStatus) *corev1.Pod {
	p := makePod("agent-"+node, version).Label("app", "agent").Label("pod-template-generation", "1").Node(node).
		Condition(corev1.PodReady, ready, "").Obj()
	p.OwnerReferences = []metav1.OwnerReference{controllerRef("apps/v1", "DaemonSet", "agent", "agent")}
	return p
}
