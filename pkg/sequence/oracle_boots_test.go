package sequence

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// lastBoot is what the oracle saw of a node's boots.
type lastBoot struct {
	node types.UID
	id   string
	at   time.Time // when the kubelet first spoke of it; zero if it was there when the oracle came, or is old
	beat time.Time // when it last spoke
}

// seeNode follows the boots of a node.
func (o *oracle) seeNode(node *corev1.Node) {
	boot, id := o.boots[node.Name], node.Status.NodeInfo.BootID
	beat, readyFor := heartbeat(node)
	apart := beat.Sub(boot.at)
	same, boots := boot.node == node.UID, false
	settled := (readyFor >= time.Minute || readyFor <= -time.Minute) && (apart >= time.Minute || apart <= -time.Minute)
	switch {
	case boot.node != node.UID:
		boot = lastBoot{node: node.UID, id: id}
	case id == "":
	case boot.id == "":
		boot.id = id
	case boot.id != id:
		boot.id, boots = id, true
		for _, heard := range []time.Time{beat, boot.beat} { // the clock may have been set back meanwhile
			if heard.After(boot.at) {
				boot.at = heard
			}
		}
	case settled:
		boot.at = time.Time{}
	}
	boot.beat = beat
	o.boots[node.Name] = boot
	o.seeConditions(node, same, boots, settled)
}

// heartbeat is when the node's kubelet last reported, and for how long it had been ready then.
func heartbeat(node *corev1.Node) (at time.Time, readyFor time.Duration) {
	for _, c := range node.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			readyFor = c.LastHeartbeatTime.Sub(c.LastTransitionTime.Time)
		}
		return c.LastHeartbeatTime.Time, readyFor
	}
	return time.Time{}, 0
}

// outlived reports whether what the pod says of its readiness is from before the present boot of its node.
func (o *oracle) outlived(p *corev1.Pod) bool {
	if p.Status.Phase == corev1.PodSucceeded {
		return false
	}
	ready, at := said(p, v1alpha1.RequireReady)
	return ready && o.node(p.Spec.NodeName) != nil && ofAPI(p, at).Before(o.boots[p.Spec.NodeName].at)
}

// noteOutlived notes which pods outlived a boot, and which had before the event.
func (o *oracle) noteOutlived() {
	o.outlivedBefore, o.outlivedNow = o.outlivedNow, sets.New[types.UID]()
	for _, p := range o.pods {
		if o.outlived(p) || o.isNowhere(p) {
			o.outlivedNow.Insert(p.UID)
		}
	}
}

// report makes the kubelet of a node report, most often for the same boot.
func (w *randomWorld) report(node *corev1.Node, boots bool) {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: pick(w, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)}
	ready.LastTransitionTime = w.apiTime()
	for _, before := range node.Status.Conditions {
		if before.Status == ready.Status {
			ready.LastTransitionTime = before.LastTransitionTime
		}
	}
	ready.LastHeartbeatTime = metav1.NewTime(w.clock.Add(pick(w, 0, 0, 0, 2*time.Minute)).Truncate(time.Second))
	if w.oneIn(12) {
		ready.LastHeartbeatTime = metav1.Time{} // as no kubelet does
	}
	node.Status.Conditions = append([]corev1.NodeCondition{ready}, othersThanReady(node)...)
	if boots {
		node.Status.NodeInfo.BootID = pick(w, fmt.Sprintf("boot-%d", w.serial), fmt.Sprintf("boot-%d", w.serial), "")
	}
}
