package ordercheck

// isNowhere reports whether the node of the pod is gone, and the pod has not succeeded: what it says of itself does not count then.
func (w *world) isNowhere(p *pod) bool { return w.gone.Has(p.node) && !p.succeeded }

// reviewNode looks again at the pods on a node that has come or gone, and returns those of which it thinks otherwise now.
func (w *world) reviewNode(node string) []*pod {
	var turned []*pod
	for _, ns := range w.byNamespace {
		for _, p := range ns.onNode[node] {
			if before := p.nowhere; before != w.isNowhere(p) {
				p.nowhere = !before
				turned = append(turned, p)
			}
		}
	}
	return turned
}

// followTurned does the same as followPod for pods that count now and did not, or the other way round.
func (v *version) followTurned(turned []*pod, w *world, e event) {
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
