package ordercheck

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// A group may wait for conditions of its node.

// nodeCondition is a condition of a node as it is written.
type nodeCondition struct {
	status string
	turned time.Time
}

func conditionsOf(node *corev1.Node) map[string]nodeCondition {
	conditions := map[string]nodeCondition{}
	for _, c := range node.Status.Conditions {
		conditions[string(c.Type)] = nodeCondition{string(c.Status), c.LastTransitionTime.Time.UTC()}
	}
	return conditions
}

// nodeSaying is a condition, and what became of it before.
type nodeSaying struct {
	nodeCondition
	// since is the earliest that it can have turned, without when the node was last seen without it, at the earliest.
	since, without time.Time
}

// sayings are those of one node, by type.
type sayings struct {
	uid         string
	now, before map[string]nodeSaying
	lookedAt    time.Time
}

// then returns the sayings of a node after it has come to be as it is now.
func (s sayings) then(is *nodeFacts, e event) sayings {
	if s.uid != string(is.node.UID) {
		s = sayings{}
	}
	now := map[string]nodeSaying{}
	for of, c := range is.conditions {
		before, had := s.now[of]
		said := nodeSaying{nodeCondition: c}
		again := had && before.nodeCondition == c
		if said.without = s.lookedAt; had && before.status == c.status {
			said.without = before.without
		}
		switch {
		case again:
			said.since = before.since
		case c.turned.IsZero():
			said.since = e.earliest
		default:
			said.since = earlier(later(later(c.turned, is.node.CreationTimestamp.Time), said.without), e.earliest)
		}
		now[of] = said
	}
	return sayings{uid: string(is.node.UID), now: now, before: s.now, lookedAt: e.earliest.Truncate(time.Second)}
}

// holds reports whether what is said of a node is what a group requires.
func holds(said map[string]nodeSaying, r v1alpha1.NodeConditionRequirement) bool {
	c, present := said[r.Type]
	if !present {
		return r.WhenAbsent == v1alpha1.AbsentPass
	}
	return c.status == statusOf(r)
}

func statusOf(r v1alpha1.NodeConditionRequirement) string {
	if r.Status == "" {
		return string(corev1.ConditionTrue)
	}
	return string(r.Status)
}

// asksOfNodes is the same for two groups if and only if they ask the same of their nodes.
func asksOfNodes(conditions []v1alpha1.NodeConditionRequirement) string {
	asks := map[string]string{}
	for _, r := range conditions {
		asks[fmt.Sprintf(";node %q is %s, or absent: %t", r.Type, statusOf(r), r.WhenAbsent == v1alpha1.AbsentPass)] = ""
	}
	text := ""
	for _, ask := range slices.Sorted(maps.Keys(asks)) {
		text += ask
	}
	return text
}
