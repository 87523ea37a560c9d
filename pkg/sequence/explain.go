package sequence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
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
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Sequence.Namespace, b.Sequence.Namespace), cmp.Compare(a.Sequence.Name, b.Sequence.Name))
	})
	return places
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

// Objects returns the objects that a group waits for, in the order of its spec, as its status records them.
func (e *Engine) Objects(key types.NamespacedName, group int) []Object {
	e.mu.RLock()
	defer e.mu.RUnlock()

	s := e.sequences[key]
	if s == nil || group < 0 || group >= len(s.groups) {
		return nil
	}
	return slices.Clone(s.groups[group].objects)
}

// Hold is what would keep a pod from being scheduled that does not exist yet. The zero value keeps none.
type Hold struct {
	// Sequence is the PodSequence that would hold the pod. When several would, it is the first by namespace and name. If Missing says
	// so, it does not exist, and has no name if any would do.
	Sequence types.NamespacedName
	Missing  spec.Missing
	// Group names the group that the pod would wait for, such as: group 1/2 "Database". It is empty when the pod would
	// wait for nothing but the end of a suspension.
	Group string
	// Paused are the Deployments that are paused and without whose pods the group cannot become ready: those of the
	// group itself, and those that pods of the group wait for in other sequences. They are sorted.
	Paused []types.NamespacedName
}

// Held reports whether the pod would be held.
func (h Hold) Held() bool { return h.Sequence != types.NamespacedName{} }

// String says in words what would hold the pod.
func (h Hold) String() string {
	switch {
	case !h.Held():
		return ""
	case h.Missing == spec.NamedMissing:
		return fmt.Sprintf("%s, which does not exist", report.NameOf(h.Sequence))
	case h.Missing == spec.AnyMissing:
		return fmt.Sprintf("namespace %s, which requires a PodSequence that selects them", h.Sequence.Namespace)
	case h.Group == "":
		return fmt.Sprintf("%s, which is suspended", report.NameOf(h.Sequence))
	}
	return fmt.Sprintf("%s until %s is ready", report.NameOf(h.Sequence), h.Group)
}

// WouldHold says what would hold a pod that is about to be created, such as one of a pod template. The pod has no name:
// no group names it. It counts as held only where something else must happen first. A group that is ready and waits for
// its time, or for being confirmed, holds it only for a moment. Sequences of scope Node are left out: whether they hold
// a pod is a question of nodes.
func (e *Engine) WouldHold(object *corev1.Pod) Hold {
	e.mu.RLock()
	defer e.mu.RUnlock()

	p := e.plan(object)
	if p.missing != spec.NothingMissing {
		return p.missingHold()
	}
	var holding *membership
	for i := range p.memberships() {
		m := &p.memberships()[i]
		if p.governedBy(m.sequence, &e.settings) && e.blocks(p.pod, *m) && (holding == nil || less(m.sequence.Key, holding.sequence.Key)) {
			holding = m
		}
	}
	if holding == nil {
		return Hold{}
	}
	s := holding.sequence
	hold := Hold{Sequence: s.Key}
	if lacking := holding.lacking(); lacking != 0 {
		hold.Group = s.describeGroup(lacking.First())
		search := pausedSearch{seen: map[*group]struct{}{}, found: map[types.NamespacedName]struct{}{}}
		search.groups(s, lacking)
		hold.Paused = search.sorted()
	}
	return hold
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

// blocks reports whether a sequence of scope Cluster holds the pod until something else happens.
func (k *knowledge) blocks(p *pod, m membership) bool {
	return k.holdFacts(p, m).Rule() == hold.ByGroup && (m.sequence.nodeless.waitsFor(m.group) == 0 || m.lacking() != 0)
}

// lacking returns the groups that are not ready and that members of the group wait for.
func (m membership) lacking() spec.GroupSet {
	d, lacking := m.sequence.nodeless, spec.GroupSet(0)
	for i := range d.waitsFor(m.group).All() {
		if !d.looksSatisfied(i) {
			lacking.Add(i)
		}
	}
	return lacking
}

// pausedSearch finds the paused Deployments that a group needs.
type pausedSearch struct {
	seen  map[*group]struct{}
	found map[types.NamespacedName]struct{}
}

// groups searches some groups of a sequence.
func (search *pausedSearch) groups(s *sequence, groups spec.GroupSet) {
	for i := range groups.All() {
		search.group(s, i)
	}
}

// group searches a group, and the groups of other sequences for which its pods wait.
func (search *pausedSearch) group(s *sequence, i int) {
	g := s.groups[i]
	if _, seen := search.seen[g]; seen {
		return
	}
	search.seen[g] = struct{}{}
	for demand := range g.demands {
		if w := demand.workload; w.Pause.Paused && demand.entered.Short > 0 {
			search.found[types.NamespacedName{Namespace: w.Namespace, Name: w.Name}] = struct{}{}
		}
	}
	for p := range s.nodeless.peek(i).members {
		if p.Bound() {
			continue
		}
		for _, m := range p.memberships() {
			if m.sequence != s && !m.sequence.PerNode {
				search.groups(m.sequence, m.lacking())
			}
		}
	}
}

func (search *pausedSearch) sorted() []types.NamespacedName {
	names := make([]types.NamespacedName, 0, len(search.found))
	for name := range search.found {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return names
}
