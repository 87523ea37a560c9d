package sequence

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/placement"
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

	p, _ := e.namespaces.find(object)
	places := make([]Place, 0, len(p.memberships()))
	for _, m := range p.memberships() {
		alone := *p
		alone.setMemberships([]membership{m})
		places = append(places, Place{
			Sequence: m.sequence.Key, Group: m.group, Decision: e.decision(&alone),
			Governed: e.settings.governs(p, m.sequence),
		})
	}
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Sequence.Namespace, b.Sequence.Namespace), cmp.Compare(a.Sequence.Name, b.Sequence.Name))
	})
	return places
}

// NodesOnTheWay returns the nodes for whose groups a pod waits in a sequence of scope Node, sorted: they suit the pod, and an earlier
// group is on its way there. It is empty for a pod that is pinned to one node, which its Decision names. It looks at all nodes.
func (e *Engine) NodesOnTheWay(object *corev1.Pod, key types.NamespacedName) []string {
	e.mu.RLock()
	defer e.mu.RUnlock()

	p, _ := e.namespaces.find(object)
	wants := p.Wants()
	if wants == nil || wants.Pin() != nil {
		return nil
	}
	var nodes []string
	suits, devices := placement.NewRequirement(wants), placement.DevicesIn(wants.Requests)
	needs := e.settings.needs(p)
	for _, m := range p.memberships() {
		if m.sequence.Key != key || !m.sequence.PerNode {
			continue
		}
		for name, n := range e.nodes.byName {
			if suits.Suits(&n.Node) && !lacksDevices(needs, devices, n) && m.sequence.stateOn(name, m.group) == placement.OnTheWay {
				nodes = append(nodes, name)
			}
		}
	}
	slices.Sort(nodes)
	return nodes
}

// Predecessors returns the 0-based indices of the groups that a group waits for: skipped ones are not among them. It is empty
// for a sequence or a group that the engine does not know.
func (e *Engine) Predecessors(key types.NamespacedName, group int) []int {
	e.mu.RLock()
	defer e.mu.RUnlock()

	s := e.sequences[key]
	if s == nil || group < 0 || group >= len(s.groups) {
		return nil
	}
	var predecessors []int
	for i := range group {
		if s.groups[group].Awaited.Has(i) {
			predecessors = append(predecessors, i)
		}
	}
	return predecessors
}

// WorkloadPart is what one workload adds to a group that selects its pods.
type WorkloadPart struct {
	Kind            WorkloadKind
	Namespace, Name string
	// Expected counts the pods that the group expects of the workload, and Ready those of them that are done.
	Expected, Ready int
	// Short reports that too few of its pods are done, or that a Job is not complete.
	Short bool
	// Unobserved reports that its controller has not seen its newest generation yet.
	Unobserved bool
	// Failure says why a Job failed; empty if it did not.
	Failure string
	// Paused reports that it is a paused Deployment, and PausedBy names the DeploymentCoordination that paused it, if one did.
	Paused   bool
	PausedBy string
}

// Workloads returns the workloads of which a group expects pods, sorted. In scope Node the numbers are those of the whole cluster.
func (e *Engine) Workloads(key types.NamespacedName, group int) []WorkloadPart {
	e.mu.RLock()
	defer e.mu.RUnlock()

	s := e.sequences[key]
	if s == nil || group < 0 || group >= len(s.groups) {
		return nil
	}
	var parts []WorkloadPart
	for demand := range s.groups[group].demands {
		w, sum := &demand.workload.Workload, demand.facts().Sum()
		if sum.Workloads == 0 {
			continue // another one speaks for its pods
		}
		part := WorkloadPart{
			Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Expected: sum.Need, Ready: sum.Ready,
			Short: sum.Short > 0, Unobserved: sum.Unobserved > 0, Paused: w.Pause.Paused, PausedBy: w.Pause.By,
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
