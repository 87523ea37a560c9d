package integration

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
)

const healthy = "example.com/GPUHealthy"

func TestConditionsOfNodes(t *testing.T) {
	t.Parallel()
	t.Run("pods go to a node when its condition holds", func(t *testing.T) {
		s := newNodeStory(t, "a", "b")
		s.Create(s.healthThenTraining().Obj())
		s.createPods(s.pinned("on-a", "training", "a"), s.here("anywhere", "training"))
		s.awaitHeldFor("on-a", "on node "+s.node("a")+": condition "+healthy+" is absent")
		s.awaitUnschedulable("anywhere", `2 node(s) waiting for group 1/2`)
		s.awaitNodes("training", v1alpha1.NodeSummary{Total: 2, Waiting: 2}, map[string]string{
			"a": "0 InProgress: condition " + healthy + " is absent", "b": "0 InProgress: condition " + healthy + " is absent",
		})

		s.say("b", healthy, corev1.ConditionTrue)
		s.awaitBound("anywhere")
		assert.True(t, s.onNode("anywhere", "b"))
		s.expectUnplaced("on-a")
		s.say("a", healthy, corev1.ConditionTrue)
		s.awaitBound("on-a")
	})
	t.Run("a condition that goes holds new pods, and not those that run", func(t *testing.T) {
		s := newNodeStory(t, "a")
		s.say("a", healthy, corev1.ConditionTrue)
		s.Create(s.healthThenTraining().Obj())
		s.createPods(s.pinned("first", "training", "a"))
		s.awaitBound("first")
		s.say("a", healthy, corev1.ConditionFalse)
		s.awaitNodes("training", v1alpha1.NodeSummary{Total: 1, Waiting: 1}, map[string]string{"a": "0 InProgress: condition " + healthy + " is False, not True"})
		s.createPods(s.pinned("second", "training", "a"))
		s.awaitHeldFor("second", "condition "+healthy+" is False, not True")
		s.expectUnplaced("second")
		s.say("a", healthy, corev1.ConditionTrue)
		s.awaitBound("second")
	})
	t.Run("beside a driver", func(t *testing.T) {
		s := newNodeStory(t, "a")
		driver := s.driverThenApp()
		driver.Spec.PodGroups[0].NodeConditions = []v1alpha1.NodeConditionRequirement{{Type: healthy}}
		s.Create(driver.Obj(), s.driver())
		s.makeReady(s.on("driver", "a"))
		s.createPods(s.pinned("before", "app", "a"))
		s.awaitHeldFor("before", "1 of 1 pods ready; condition "+healthy+" is absent")
		s.say("a", healthy, corev1.ConditionTrue)
		s.awaitBound("before")
	})
}

// healthThenTraining waits for a condition of the nodes of the story.
func (s *nodeStory) healthThenTraining() *SequenceWrapper {
	return s.perNode("training").Group(v1alpha1.PodGroup{
		Name: "Health", NodeSelector: map[string]v1alpha1.LabelValue{ofStory: v1alpha1.LabelValue(s.Namespace)},
		NodeConditions: []v1alpha1.NodeConditionRequirement{{Type: healthy}},
	}).Label("Training", "tier", "training")
}

// say makes an agent report a condition of the node.
func (s *nodeStory) say(name, of string, status corev1.ConditionStatus) {
	s.Helper()
	cluster.ChangeStatus(s.Story, s.getNode(name), func(node *corev1.Node) {
		is := corev1.NodeCondition{
			Type: corev1.NodeConditionType(of), Status: status, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			Reason: "Checked", Message: "a test says so",
		}
		i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == is.Type })
		if i < 0 {
			node.Status.Conditions = append(node.Status.Conditions, is)
			return
		}
		if was := node.Status.Conditions[i]; was.Status == status {
			is.LastTransitionTime = was.LastTransitionTime
		}
		node.Status.Conditions[i] = is
	})
}
