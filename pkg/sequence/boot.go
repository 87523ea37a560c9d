package sequence

import "example.com/podsequence/pkg/sequence/inventory"

// followBoot counts the pods on a node anew when it has booted, when its boot has settled, and when it is gone. It looks at all pods:
// nodes boot rarely.
func (k *knowledge) followBoot(node string, tx *transaction) {
	n := k.nodes.viewOf(node)
	for _, ns := range k.namespaces {
		for _, p := range ns.pods {
			if p.Node != node {
				continue
			}
			view := *p.Pod
			if view.FollowBoot(n); view.BeforeBoot != p.BeforeBoot {
				k.replaceFacts(p, &view, tx)
			}
		}
	}
}

// replaceFacts gives a bound pod facts that differ in its readiness only.
func (k *knowledge) replaceFacts(p *pod, facts *inventory.Pod, tx *transaction) {
	p.touch(tx)
	k.withdraw(p, tx)
	before := *p
	p.Pod = facts
	k.enlist(p, tx)
	for _, m := range p.memberships() {
		k.workloads.join(p, m, &before)
	}
}

// viewOf returns the facts of a node; nil while it is not known.
func (all *nodes) viewOf(name string) *inventory.Node {
	if n := all.byName[name]; n != nil {
		return &n.Node
	}
	return nil
}
