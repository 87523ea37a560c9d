package ordercheck

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// saying gives a node a condition. made is when the node was created.
type saying func(n *corev1.Node, made, now metav1.Time)

// says makes the kubelet of a node report that it is ready, and others say something of it. Nothing else is said of it any more.
func says(name string, sayings ...saying) step {
	return func(s *story) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, exists := s.nodes[name]; !exists {
			s.nodes[name] = s.whole()
		}
		n.CreationTimestamp = s.nodes[name]
		n.UID = types.UID(n.CreationTimestamp.Format(time.TimeOnly))
		n.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: s.whole(), LastTransitionTime: n.CreationTimestamp,
		}}
		for _, add := range sayings {
			add(n, s.nodes[name], s.whole())
		}
		s.changed(factsOfNode(n), false)
	}
}

func reported(of string, status corev1.ConditionStatus, turned, beat func(made, now metav1.Time) metav1.Time) saying {
	return func(n *corev1.Node, made, now metav1.Time) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(of), Status: status, LastTransitionTime: turned(made, now), LastHeartbeatTime: beat(made, now),
		})
	}
}

func atCreation(made, _ metav1.Time) metav1.Time { return made }
func atOnce(_, now metav1.Time) metav1.Time      { return now }

func awaitingNode(r ...v1alpha1.NodeConditionRequirement) func(*v1alpha1.PodGroup) {
	return func(g *v1alpha1.PodGroup) { g.NodeConditions = r }
}

func TestJudgeReadsConditionsOfNodes(t *testing.T) {
	const late = 4 * time.Second
	healthy, panics := v1alpha1.NodeConditionRequirement{Type: "example.com/Healthy"}, v1alpha1.NodeConditionRequirement{
		Type: "example.com/Panic", Status: metav1.ConditionFalse, WhenAbsent: v1alpha1.AbsentPass,
	}
	alone := func(fixes ...func(*v1alpha1.PodGroup)) step {
		g := v1alpha1.PodGroup{NodeConditions: []v1alpha1.NodeConditionRequirement{healthy}}
		for _, fix := range fixes {
			fix(&g)
		}
		return order("s", perNode, group(g), named("app"))
	}
	app := several(create("app"), bindTo("app", "node-1"))
	yes, no := reported("example.com/Healthy", "True", atOnce, atOnce), reported("example.com/Healthy", "False", atOnce, atOnce)
	old, still := reported("example.com/Healthy", "True", atCreation, atCreation), reported("example.com/Healthy", "True", atCreation, atOnce)
	early := []string{"shop/app"}
	checkAll(t, map[string]judgement{
		"a pod bound where the condition is absent is early": {
			steps: []step{says("node-1"), alone(), app}, wantEarly: early, wantBindings: 1,
		},
		"where it is false": {
			steps: []step{says("node-1", no), alone(), app}, wantEarly: early, wantBindings: 1,
		},
		"where it holds it is fine": {
			steps: []step{says("node-1"), alone(), says("node-1", yes), app}, wantBindings: 1,
		},
		"where it holds on another node only it is early": {
			steps:     []step{says("node-1"), says("node-2", yes), alone(), app},
			wantEarly: early, wantBindings: 1,
		},
		"a node that the group is not for needs none": {
			steps: []step{says("node-1"), alone(on("disk", "ssd")), app}, wantBindings: 1,
		},
		"a condition that went a moment ago excuses": {
			steps: []step{says("node-1", yes), alone(), says("node-1"), app}, wantBindings: 1,
		},
		"one that went seconds ago does not": {
			steps: []step{says("node-1", yes), alone(), says("node-1"), passing(late), app}, wantEarly: early, wantBindings: 1,
		},
		"an absent condition passes if the group says so": {
			steps: []step{says("node-1"), alone(awaitingNode(panics)), app}, wantBindings: 1,
		},
		"but not one that is otherwise": {
			steps: []step{says("node-1", reported("example.com/Panic", "True", atOnce, atOnce)), alone(awaitingNode(panics)), app}, wantEarly: early, wantBindings: 1,
		},
		"all conditions must hold": {
			steps: []step{says("node-1", yes), alone(awaitingNode(healthy, v1alpha1.NodeConditionRequirement{Type: "example.com/Other"})), app}, wantEarly: early,
			wantBindings: 1,
		},
		"members alone are not enough": {
			steps: []step{says("node-1"), order("s", perNode, tier("csi", awaitingNode(healthy)), named("app")),
				create("csi-1", labelled("tier", "csi"), at("node-1")), ready("csi-1"), app},
			wantEarly: early, wantBindings: 2,
		},
		"nor is the condition alone, beside members": {
			steps:     []step{says("node-1", yes), order("s", perNode, tier("csi", awaitingNode(healthy)), named("app")), app},
			wantEarly: early, wantBindings: 1,
		},
		"both are": {
			steps: []step{says("node-1", yes), order("s", perNode, tier("csi", awaitingNode(healthy)), named("app")),
				create("csi-1", labelled("tier", "csi"), at("node-1")), ready("csi-1"), app},
			wantBindings: 2,
		},
		"a wait counts from when the condition turned": {
			steps: []step{says("node-1"), alone(waiting("10s")), passing(late), says("node-1", yes), passing(8 * time.Second), app}, wantEarly: early,
			wantBindings: 1,
		},
		"a wait that is over": {
			steps: []step{says("node-1"), alone(waiting("10s")), passing(late), says("node-1", yes), passing(12 * time.Second), app}, wantBindings: 1,
		},
		"a condition that turned again had a break": {
			steps:     []step{says("node-1", yes), alone(waiting("10s")), passing(8 * time.Second), says("node-1", yes), passing(8 * time.Second), app},
			wantEarly: early, wantBindings: 1,
		},
		"a heartbeat is no break": {
			steps:        []step{says("node-1", old), alone(waiting("10s")), passing(8 * time.Second), says("node-1", still), passing(8 * time.Second), app},
			wantBindings: 1,
		},
		"a time from before it was something else is not believed": {
			steps: []step{says("node-1"), alone(waiting("10s")), passing(time.Minute), says("node-1", no), passing(late), says("node-1", old),
				passing(late), app},
			wantEarly: early, wantBindings: 1,
		},
	})
}

func TestJudgeNamesTheConditionThatANodeLacked(t *testing.T) {
	verdict := Judge(tell(
		says("node-1", reported("example.com/Healthy", "False", atOnce, atOnce)),
		order("s", perNode, group(v1alpha1.PodGroup{NodeConditions: []v1alpha1.NodeConditionRequirement{{Type: "example.com/Healthy"}}}), named("app")),
		create("app"), bindTo("app", "node-1"),
	), JudgeOptions{})
	require.Len(t, verdict.Violations, 1)
	assert.Contains(t, verdict.Violations[0].String(), "condition example.com/Healthy was False, not True")
}
