package lint

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"example.com/podsequence/tools/podseqctl/snapshot"
)

// someNodes looks at a DaemonSet that is for some nodes only, in a group of scope Cluster that others wait for.
func (l *linter) someNodes(s *snapshot.Sequence, i int, t *template) {
	const rule = "SomeNodes"
	if s.PerNode() || !selectsNodes(t.pods[0]) {
		return
	}
	required := nodeaffinity.GetRequiredNodeAffinity(t.pods[0])
	matches := func(node *corev1.Node) bool {
		match, err := required.Match(node)
		return err != nil || match
	}
	if !l.offline && l.NodesRead && !slices.ContainsFunc(l.Nodes, matches) {
		l.addTo(t, Warning, rule, "no node has the labels that it asks for, so groups after %s of %s wait until one is added: "+
			"set scope: Node, with the same nodeSelector in the group, to make only pods on these nodes wait", s.Where(i), s)
		return
	}
	l.addTo(t, Note, rule, "it runs on some nodes only, and with scope Cluster pods on all nodes wait for %s of %s, also while no such node exists; "+
		"what runs on a node that is added later does not wait for it there: set scope: Node, with the same nodeSelector in the group, "+
		"if the order matters on each of these nodes", s.Where(i), s)
}

// selectsNodes reports whether a pod asks for labels of its node.
func selectsNodes(pod *corev1.Pod) bool {
	affinity := pod.Spec.Affinity
	return len(pod.Spec.NodeSelector) > 0 ||
		affinity != nil && affinity.NodeAffinity != nil && affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}
