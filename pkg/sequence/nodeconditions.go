package sequence

import (
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
)

// asksNodes reports whether some sequence asks for conditions of nodes of this type. Others change nothing.
func (k *knowledge) asksNodes(condition string) bool {
	for s := range k.perNode {
		if s.AsksNode(condition) {
			return true
		}
	}
	return false
}

// noteConditions notes when the conditions turned that an event brought. before is the node as it was; nil if there was none.
func (d *domain) noteConditions(before *node) {
	if d.node == nil {
		return
	}
	var was *inventory.Node
	if before != nil && before.Object.UID == d.node.Object.UID {
		was = &before.Node
	}
	for i, g := range d.sequence.groups {
		if state := d.find(i); state != nil && len(g.NodeConditions) > 0 {
			state.turned = latest(state.turned, readiness.TurnedOn(g.NodeConditions, was, &d.node.Node))
		}
	}
}

// unmet returns the conditions that the group asks for and the domain's node does not have. Of a node that is not known nothing holds.
func (d *domain) unmet(g *group) readiness.Unmet {
	switch {
	case len(g.NodeConditions) == 0:
		return 0
	case d.node == nil:
		return ^readiness.Unmet(0)
	}
	return readiness.UnmetOn(g.NodeConditions, &d.node.Node)
}

// conditionsSince is when the last condition of the node turned that the group asks for; zero if it asks for none, or nobody says.
func (d *domain) conditionsSince(i int) time.Time {
	g := d.sequence.groups[i]
	if len(g.NodeConditions) == 0 || d.node == nil {
		return time.Time{}
	}
	return readiness.HoldsSince(g.NodeConditions, &d.node.Node)
}
