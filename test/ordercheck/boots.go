package ordercheck

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// A node that loses power leaves its pods Ready in the API. Its kubelet reports a new boot ID before it reports on any pod, with a
// heartbeat by the clock that it gives pods their conditions from. Of a pod that turned ready before that, the API says nothing about
// the present boot. Once the kubelet has been ready for a minute it has reported on all pods.

// settled is how long a kubelet takes at most to report on all its pods.
const settled = time.Minute

// heard is what a kubelet last said of itself.
type heard struct {
	bootID          string
	beat, readyFrom time.Time // zero if it does not say, or is not ready
}

func heardFrom(node *corev1.Node) heard {
	r := heard{bootID: node.Status.NodeInfo.BootID}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			r.beat = c.LastHeartbeatTime.Time
			if c.Status == corev1.ConditionTrue {
				r.readyFrom = c.LastTransitionTime.Time
			}
		}
	}
	return r
}

func (r heard) same(other heard) bool {
	return r.bootID == other.bootID && r.beat.Equal(other.beat) && r.readyFrom.Equal(other.readyFrom)
}

// boot is the last boot of a node that the record has.
type boot struct {
	id string
	at time.Time // zero for one older than the record, and for one that the node has settled after
}

// noteBoot follows the boots of a node. was is what the node was before, nil if it is new. It returns the pods that count as ready and did
// not, or the other way round.
func (w *world) noteBoot(was, is *nodeFacts, e event) []*pod {
	name, now := is.node.Name, is.heard
	last := w.boots[name]
	boots := false
	settles := !now.readyFrom.IsZero() && now.beat.Sub(now.readyFrom).Abs() >= settled && now.beat.Sub(last.at).Abs() >= settled
	switch {
	case was == nil || was.node.UID != is.node.UID:
		last = boot{id: now.bootID}
	case now.bootID != "" && last.id != "" && now.bootID != last.id:
		last, boots = boot{id: now.bootID, at: later(now.beat, later(was.beat, last.at))}, true // its clock may be behind
	case now.bootID != "" && last.id == "":
		last.id = now.bootID
	case now.bootID != "" && settles:
		last.at = time.Time{}
	}
	w.boots[name] = last
	w.noteConditions(is, boots, settles, e)
	return w.reviewReady(name)
}

// reviewReady looks again at the pods on a node, and returns those of which it thinks otherwise now.
func (w *world) reviewReady(node string) []*pod {
	var turned []*pod
	for _, ns := range w.byNamespace {
		for _, p := range ns.onNode[node] {
			before, marks := p.fromBefore, p.oldMark
			p.fromBefore, p.oldMark = w.isFromBefore(p), w.oldMarks(p)
			if p.fromBefore != before || !maps.Equal(p.oldMark, marks) {
				turned = append(turned, p)
			}
		}
	}
	return turned
}

// isFromBefore reports whether what makes the pod ready is from before its node booted, or its node is gone. What succeeded does not become
// undone.
func (w *world) isFromBefore(p *pod) bool {
	if w.gone.Has(p.node) {
		return p.ready && !p.succeeded
	}
	return w.nodes[p.node] != nil && p.ready && !p.succeeded && p.told(v1alpha1.RequireReady).Before(w.boots[p.node].at)
}

// followBoot does the same as followPod for pods that count as ready now and did not, or the other way round.
func (v *version) followBoot(turned []*pod, w *world, e event) {
	for _, p := range turned {
		if len(v.groupsIn(p.Namespace)) == 0 {
			continue
		}
		v.displace(p.NamespacedName)
		v.place(p)
		if !v.perNode {
			v.reweigh(v.touchedBy(p.podFacts, w), w, e, noNews)
		}
	}
}
