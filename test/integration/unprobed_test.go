package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// unprobedReady is what both programs ask of pods without a readiness probe, as shipped.
const unprobedReady = 5 * time.Second

// probed gives the pod a readiness probe. KWOK does not look at it.
func probed(pod *st.PodWrapper) *st.PodWrapper {
	pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
	return pod
}

// asTold is a pod of which the test says whether it is ready, and KWOK says nothing.
func (s *story) asTold(name string) *st.PodWrapper {
	return s.pod(name).Annotation(cluster.ReadyAfter, "1h")
}

// says sets whether the pod is ready, as its kubelet would write it.
func (s *story) says(name string, ready corev1.ConditionStatus) {
	s.Helper()
	cluster.ChangeStatus(s.Story, s.getPod(name), func(pod *corev1.Pod) {
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status != ready {
				c.Status, c.LastTransitionTime = ready, metav1.Now()
			}
		}
	})
}

// awaitRunning waits until the kubelet says something of the pod.
func (s *story) awaitRunning(name string) {
	s.Helper()
	s.Await(name+" to run", func() bool { return s.getPod(name).Status.Phase == corev1.PodRunning })
}

// The programs run as they are shipped here.
func TestPodsWithoutAReadinessProbe(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := startCluster(t, controlplane.Options{UnprobedReadySeconds: new(int32(unprobedReady / time.Second))})
	start := func(t *testing.T) *story {
		t.Parallel()
		return newStoryIn(t, env)
	}
	begin := func(s *story, first *st.PodWrapper) {
		s.Helper()
		s.Create(s.sequence("shop").Pods("Database", "db").Pods("Application", "app").Obj())
		s.createPods(first, s.pod("app"), s.gated("gated").SchedulerName(stockScheduler))
		s.awaitRunning("db")
	}
	t.Run("a first tier that crashes again and again passes never", func(t *testing.T) {
		s := start(t)
		begin(s, s.asTold("db"))
		for range 3 {
			s.says("db", corev1.ConditionTrue)
			s.says("db", corev1.ConditionFalse)
			s.expectHeld("app")
		}
		s.awaitCondition("shop", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonGroupNotReady)
		s.says("db", corev1.ConditionTrue)
		s.Await("the status to say what the group waits for", func() bool {
			return s.statusSays("shop", "Ready but not yet for 5s, and has no readiness probe")
		})
		s.awaitBound("app")
		assert.False(t, s.placedAt("app").Before(overAt(s.readyAt("db"), unprobedReady)), "db had not been ready for long enough")
		s.Await("the pass to be recorded", func() bool { return s.getSequence("shop").Status.Groups[0].PassedAt != nil })
		// As with all times of the API: a whole second, and a wait counts from the next one.
		assert.Equal(t, s.readyAt("db").Add(unprobedReady), s.getSequence("shop").Status.Groups[0].SatisfiedAt.Time)
	})
	t.Run("with a probe it counts at once", func(t *testing.T) {
		s := start(t)
		begin(s, probed(s.asTold("db")))
		s.says("db", corev1.ConditionTrue)
		s.awaitBound("app")
		s.Await("the pass to be recorded", func() bool { return s.getSequence("shop").Status.Groups[0].PassedAt != nil })
		assert.Equal(t, s.readyAt("db"), s.getSequence("shop").Status.Groups[0].SatisfiedAt.Time, "app waited as if db had no probe")
	})
	t.Run("the group says how long", func(t *testing.T) {
		s := start(t)
		group := v1alpha1.PodGroup{Name: "Database", Pods: []string{"db"}, MinReadySeconds: new(int32(2))}
		s.Create(s.sequence("shop").Group(group).Pods("Application", "app").Obj())
		s.createPods(probed(s.asTold("db")), s.pod("app"))
		s.awaitRunning("db")
		s.says("db", corev1.ConditionTrue)
		s.awaitBound("app")
		assert.False(t, s.placedAt("app").Before(overAt(s.readyAt("db"), 2*time.Second)), "db had not been ready for long enough")
	})
	t.Run("a pod that has succeeded counts at once", func(t *testing.T) {
		s := start(t)
		begin(s, s.asTold("db"))
		cluster.ChangeStatus(s.Story, s.getPod("db"), func(db *corev1.Pod) { db.Status.Phase = corev1.PodSucceeded })
		s.awaitBound("app")
	})
	t.Run("on a node", func(t *testing.T) {
		s := start(t)
		s.Create(s.sequence("shop").NodeScope().Pods("Driver", "driver").Pods("Application", "app").Obj())
		s.createPods(s.asTold("driver").Node("node-1"), s.pod("app").NodeAffinityIn(corev1.LabelHostname, []string{"node-1"}, st.NodeSelectorTypeMatchExpressions))
		s.awaitRunning("driver")
		s.says("driver", corev1.ConditionTrue)
		s.says("driver", corev1.ConditionFalse)
		s.expectHeld("app")
		s.says("driver", corev1.ConditionTrue)
		s.awaitBound("app")
		assert.False(t, s.placedAt("app").Before(overAt(s.readyAt("driver"), unprobedReady)), "driver had not been ready for long enough")
	})
}

// statusSays reports whether the message of the sequence has a text.
func (s *story) statusSays(sequence, text string) bool {
	s.Helper()
	return strings.Contains(s.getSequence(sequence).Status.Message, text)
}
