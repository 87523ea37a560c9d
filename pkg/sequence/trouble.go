package sequence

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/report"
)

// troubled reports whether something is wrong with the node that pods there which are not ready should be seen with.
func (n *node) troubled() bool { return !n.NotReady.IsZero() || n.Object.Spec.Unschedulable }

// sameTrouble reports whether the same is wrong with a node as before. A node that is not known is nil.
func sameTrouble(before, now *node) bool {
	if before == nil || now == nil {
		return (before == nil || !before.troubled()) && (now == nil || !now.troubled())
	}
	return before.NotReady == now.NotReady && before.Object.Spec.Unschedulable == now.Object.Spec.Unschedulable
}

// reportTrouble makes status say what is wrong with a node now, also of sequences that do not look at nodes otherwise. It does not look
// at their pods: only at whether some group is not satisfied. Nodes become ready and not ready seldom.
func (k *knowledge) reportTrouble(before, now *node, tx *transaction) {
	if sameTrouble(before, now) {
		return
	}
	for _, s := range k.sequences {
		if s.PerNode {
			continue // the domain of the node is looked at anyway
		}
		for i := range s.groups {
			if !s.nodeless.looksSatisfied(i) {
				tx.markDirty(s.nodeless)
				break
			}
		}
	}
}

// troubles says what is wrong with the first of these nodes, and that there are others.
func troubles(of map[string]*node) string {
	if len(of) == 0 {
		return ""
	}
	first := slices.Sorted(maps.Keys(of))[0]
	text := report.NodeTrouble(&of[first].Node)
	if more := len(of) - 1; more > 0 {
		text += fmt.Sprintf("; pods are not ready on %d more nodes that are not ready or cordoned", more)
	}
	return text
}

// NodeTrouble says in words that a node is not ready, since when and why, or that it is cordoned. It is empty if it is neither.
func NodeTrouble(object *corev1.Node) (trouble string, notReady bool) {
	view := inventory.ViewNode(object)
	return report.NodeTrouble(&view), !view.NotReady.IsZero()
}
