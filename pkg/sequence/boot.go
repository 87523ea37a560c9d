package sequence

import "example.com/podsequence/pkg/sequence/inventory"

// recountAfterBoot counts the pods on a node anew when it has booted, when its boot has settled, and when it is gone. It looks at all pods:
// nodes boot rarely.
func (k *knowledge) recountAfterBoot(node string, tx *transaction) {
	n := k.nodes.viewOf(node)
	for _, ns := range k.namespaces {
		for _, p := range ns.pods {
			if p.Node != node {
				continue
			}
			view := *p.Pod
			if view.FollowBoot(n); view.BeforeBoot != p.BeforeBoot {
				p.Pod = &view
				p.mark(tx)
			}
		}
	}
}

// viewOf returns the facts of a node; nil while it is not known.
func (all *nodes) viewOf(name string) *inventory.Node {
	if n := all.byName[name]; n != nil {
		return &n.Node
	}
	return nil
}
