package sequence

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// A stray pod names a PodSequence of its namespace by its label, and no group of that sequence selects it. Each namespace keeps its stray
// pods by the name of the sequence, so that what a report costs does not grow with the pods that are members.

// reviewStray enters the pod among the stray pods of its namespace, or takes it out.
func (n *namespace) reviewStray(p *pod, tx *transaction) {
	name := spec.NamedSequence(&p.Labels)
	if name == "" {
		return
	}
	_, was := n.strays[name][p]
	switch is := p.isStray(name); {
	case is:
		insert(n.strays, name, p)
	case was:
		remove(n.strays, name, p)
	default:
		return
	}
	tx.noteStray(types.NamespacedName{Namespace: p.Namespace, Name: name})
}

// forgetStray takes the pod out before its labels change, or when it is gone.
func (n *namespace) forgetStray(p *pod, tx *transaction) {
	if len(n.strays) == 0 {
		return
	}
	name := spec.NamedSequence(&p.Labels)
	if _, was := n.strays[name][p]; was {
		remove(n.strays, name, p)
		tx.noteStray(types.NamespacedName{Namespace: p.Namespace, Name: name})
	}
}

// isStray reports whether no group of the PodSequence with this name, which the pod names, has the pod. One that ended or is going needs no
// order any more.
func (p *pod) isStray(name string) bool {
	if p.Terminating || p.Succeeded || p.Failed || p.IsUnordered() {
		return false
	}
	return !slices.ContainsFunc(p.memberships(), func(m membership) bool {
		return m.sequence.Key.Namespace == p.Namespace && m.sequence.Key.Name == name
	})
}

// noteStray has the sequence reported anew.
func (tx *transaction) noteStray(key types.NamespacedName) {
	if n := len(tx.strayed); n == 0 || tx.strayed[n-1] != key {
		tx.strayed = append(tx.strayed, key)
	}
}

// strayPods reports the pods that name the sequence and that none of its groups selects. Whether one does is not known of a spec that
// cannot be read.
func (k *knowledge) strayPods(s *sequence) (spec.Problem, bool) {
	ns := k.namespaces[s.Key.Namespace]
	if ns == nil || s.Cluster || len(ns.strays[s.Key.Name]) == 0 || s.isUnreadable() {
		return spec.Problem{}, false
	}
	var pods []report.StrayPod
	for p := range ns.strays[s.Key.Name] {
		pods = append(pods, report.StrayPodOf(p.Pod))
	}
	return report.StrayPods(pods, s.Sequence), true
}
