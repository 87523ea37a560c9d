package readiness

import (
	"fmt"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
)

// Holds reports whether a node meets a requirement, and since when; zero if unknown.
func Holds(required *v1alpha1.NodeConditionRequirement, n *inventory.Node) (holds bool, since time.Time) {
	c := n.Condition(required.Type)
	if c == nil {
		return required.WhenAbsent == v1alpha1.AbsentPass, time.Time{}
	}
	return c.Status == required.Status, c.Since.Time()
}

// Unmet is the set of the requirements, by index, that a node does not meet. Those after the eighth, which the API does not allow, count as
// the eighth. It is small because every node keeps one for each group.
type Unmet uint8

// UnmetOn returns the requirements that a node does not meet.
func UnmetOn(required []v1alpha1.NodeConditionRequirement, n *inventory.Node) Unmet {
	var unmet Unmet
	for i := range required {
		if holds, _ := Holds(&required[i], n); !holds {
			unmet |= 1 << min(i, 7)
		}
	}
	return unmet
}

// HoldsSince returns when the last of the requirements came to hold, as the conditions of the node say; zero if they do not.
func HoldsSince(required []v1alpha1.NodeConditionRequirement, n *inventory.Node) time.Time {
	var last time.Time
	for i := range required {
		if holds, since := Holds(&required[i], n); holds {
			last = latest(last, since)
		}
	}
	return last
}

// TurnedOn returns when the last of the requirements came to hold that the node meets since an earlier version of it, or once more; zero if
// there is none, or if unknown. before may be nil.
func TurnedOn(required []v1alpha1.NodeConditionRequirement, before, now *inventory.Node) time.Time {
	var last time.Time
	for i := range required {
		holds, since := Holds(&required[i], now)
		if before != nil && holds {
			held, sinceBefore := Holds(&required[i], before)
			holds = !held || !since.Equal(sinceBefore)
		}
		if holds {
			last = latest(last, since)
		}
	}
	return last
}

// UnmetText names the first requirement that the node does not meet, and says what is so instead.
func UnmetText(required []v1alpha1.NodeConditionRequirement, n *inventory.Node) string {
	text, more := "", 0
	for i := range required {
		r := &required[i]
		if holds, _ := Holds(r, n); holds {
			continue
		}
		if text != "" {
			more++
			continue
		}
		text = "condition " + r.Type
		if c := n.Condition(r.Type); c == nil {
			text += " is absent"
		} else {
			text += fmt.Sprintf(" is %s, not %s", c.Status, r.Status)
		}
	}
	switch more {
	case 0:
		return text
	case 1:
		return text + ", and 1 more does not hold"
	}
	return text + fmt.Sprintf(", and %d more do not hold", more)
}
