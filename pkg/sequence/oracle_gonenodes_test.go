package sequence

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// isNowhere reports whether the pod is bound to a node that does not exist, and has not done its work.
func (o *oracle) isNowhere(p *corev1.Pod) bool {
	return o.nodesListed && p.Spec.NodeName != "" && o.node(p.Spec.NodeName) == nil && p.Status.Phase != corev1.PodSucceeded
}

// noteNowhere notes which pods are nowhere, and which were before the event.
func (o *oracle) noteNowhere() {
	o.nowhereBefore, o.nowhereNow = o.nowhereNow, sets.New[types.UID]()
	for _, p := range o.pods {
		if o.isNowhere(p) {
			o.nowhereNow.Insert(p.UID)
		}
	}
}

// countFromNode makes pods count since their node was created, if they were ready before: on an earlier node of that name.
func (o *oracle) countFromNode(since map[types.UID]time.Time) {
	for _, p := range o.pods {
		if at := since[p.UID]; !at.IsZero() {
			since[p.UID] = o.notBeforeNode(p, at)
		}
	}
}

func (o *oracle) notBeforeNode(p *corev1.Pod, at time.Time) time.Time {
	node := o.node(p.Spec.NodeName)
	if node == nil || at.IsZero() || p.Status.Phase == corev1.PodSucceeded {
		return at
	}
	return later(at, node.CreationTimestamp.Time)
}
