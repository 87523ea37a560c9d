package sequence

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
)

// Place is the group that one sequence has for a pod.
type Place struct {
	Sequence types.NamespacedName
	Group    int
	// Governed reports whether the sequence can hold the pod: our scheduler places it, or it carries the gate of the sequence.
	Governed bool
	// Decision says whether this sequence holds the pod, whatever other sequences say.
	Decision report.Decision
}

// Places returns the groups that sequences have for a pod, sorted by sequence. The pod may be one that does not exist, such as
// one of a pod template.
func (e *Engine) Places(object *corev1.Pod) []Place {
	e.mu.RLock()
	defer e.mu.RUnlock()

	p, _ := e.find(object)
	places := make([]Place, 0, len(p.memberships()))
	for _, m := range p.memberships() {
		alone := *p
		alone.setMemberships([]membership{m})
		places = append(places, Place{
			Sequence: m.sequence.Key, Group: m.group, Decision: e.decision(&alone),
			Governed: e.settings.governs(p, m.sequence),
		})
	}
	slices.SortFunc(places, func(a, b Place) int { return compareKeys(a.Sequence, b.Sequence) })
	return places
}

// groupOf returns a group of a sequence; nil if the engine knows no such group.
func (e *Engine) groupOf(key types.NamespacedName, group int) *group {
	if s := e.sequences[key]; s != nil && group >= 0 && group < len(s.groups) {
		return s.groups[group]
	}
	return nil
}

// Predecessors returns the 0-based indices of the groups that a group waits for: skipped ones are not among them. It is empty
// for a sequence or a group that the engine does not know.
func (e *Engine) Predecessors(key types.NamespacedName, group int) []int {
	e.mu.RLock()
	defer e.mu.RUnlock()

	if g := e.groupOf(key, group); g != nil {
		return slices.Collect(g.Awaited.All())
	}
	return nil
}

// WorkloadPart is what one workload adds to a group that selects its pods.
type WorkloadPart struct {
	Kind            inventory.Kind
	Namespace, Name string
	// Expected counts the pods that the group expects of the workload, and Ready those of them that are done.
	Expected, Ready int
	// Short reports that too few of its pods are done, or that a Job is not complete.
	Short bool
	// Unobserved reports that its controller has not seen its newest generation yet.
	Unobserved bool
	// Failure says why a Job failed; empty if it did not.
	Failure string
}

// Workloads returns the workloads of which a group expects pods, sorted. In scope Node the numbers are those of the whole cluster.
func (e *Engine) Workloads(key types.NamespacedName, group int) []WorkloadPart {
	e.mu.RLock()
	defer e.mu.RUnlock()

	g := e.groupOf(key, group)
	if g == nil {
		return nil
	}
	var parts []WorkloadPart
	for demand := range g.demands {
		w, sum := &demand.workload.Workload, demand.facts().Sum()
		if sum.Workloads == 0 {
			continue // another one speaks for its pods
		}
		part := WorkloadPart{
			Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Expected: sum.Need, Ready: sum.Ready,
			Short: sum.Short > 0, Unobserved: sum.Unobserved > 0,
		}
		if sum.Failed > 0 {
			part.Failure = w.Failure
		}
		parts = append(parts, part)
	}
	slices.SortFunc(parts, func(a, b WorkloadPart) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return parts
}

// Object is what is recorded of an object that a group waits for.
type Object = readiness.Object

// Objects returns the objects that a group waits for, in the order of its spec, as its status records them.
func (e *Engine) Objects(key types.NamespacedName, group int) []Object {
	e.mu.RLock()
	defer e.mu.RUnlock()

	if g := e.groupOf(key, group); g != nil {
		return slices.Clone(g.objects)
	}
	return nil
}

// TargetNamespaces returns the namespaces whose pods a sequence holds, as far as they allow it; ok is false if the engine knows
// no such sequence.
func (e *Engine) TargetNamespaces(key types.NamespacedName) (namespaces []string, ok bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	s := e.sequences[key]
	switch {
	case s == nil:
		return nil, false
	case !s.Cluster:
		return []string{s.Namespace}, true
	}
	return slices.Collect(maps.Keys(s.groupsByNamespace)), true
}
