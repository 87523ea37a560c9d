package ordercheck

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// A pod may require a sequence: its label names a PodSequence, or its namespace requires one of all pods of our scheduler. Then
// nobody may bind it while there is no such sequence. What the sequence asks for once it is there is the rest of the rule.

// ourGates begins the names of the gates that hold a pod whose label names a PodSequence.
const ourGates = "podsequence.example.com/"

// moment is when something came to be so. It is zero for what is older than the watch.
type moment struct {
	revision revision
	arrived  time.Time
}

func momentOf(e event) moment { return moment{e.revision, e.arrived} }

func lastOf(moments ...moment) moment {
	return slices.MaxFunc(moments, func(a, b moment) int { return int(a.revision - b.revision) })
}

// requirements are what pods may require, as of one resource version.
type requirements struct {
	// installed is since when the kind PodSequence has been; nil while it is not.
	installed *moment
	// present are the PodSequences there are, gone those there were.
	present map[types.NamespacedName]types.UID
	gone    map[types.NamespacedName]moment
	// requiring are the namespaces that require a sequence.
	requiring map[string]moment
	retired   []retired
	// asides are the Jobs that are hooks and no part of the start.
	asides sets.Set[types.UID]
}

func newRequirements() requirements {
	return requirements{
		present: map[types.NamespacedName]types.UID{}, gone: map[types.NamespacedName]moment{}, requiring: map[string]moment{},
		asides: sets.New[types.UID](),
	}
}

// retired is a sequence that had members by a spec, or by labels of namespaces, by which it has them no more.
type retired struct {
	*sequenceFacts
	reach map[string][]int
	at    moment
}

func (r *requirements) putDefinition(e event) {
	switch f := e.definition; {
	case f.name != "podsequences."+v1alpha1.GroupVersion.Group:
	case e.deleted || !f.installed:
		r.installed = nil
	case r.installed == nil:
		r.installed = new(momentOf(e))
	}
}

func (r *requirements) putSequence(e event) {
	switch f := e.sequence; {
	case f.isCluster():
	case !e.deleted:
		r.present[f.NamespacedName] = f.uid
	case r.present[f.NamespacedName] == f.uid:
		delete(r.present, f.NamespacedName)
		r.gone[f.NamespacedName] = momentOf(e)
	}
}

func (r *requirements) putNamespace(e event) {
	_, before := r.requiring[e.home.name]
	switch required := e.home.required && !e.deleted; {
	case !required:
		delete(r.requiring, e.home.name)
	case !before:
		r.requiring[e.home.name] = momentOf(e)
	}
}

// retire notes that a version is in force no more.
func (r *requirements) retire(v *version, e event) {
	r.retired = append(r.retired, retired{v.sequenceFacts, maps.Clone(v.reach), momentOf(e)})
}

// lack is a sequence that a pod requires and that there is not.
type lack struct {
	since      moment
	kind, name string // of what requires it in vain
	charge     string
}

// lacksNamed returns what a pod lacks whose label names a PodSequence that does not exist.
func (r *requirements) lacksNamed(p *pod) (lack, bool) {
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.labels[v1alpha1.SequenceLabel]}
	_, exists := r.present[name]
	if name.Name == "" || exists || r.installed == nil || isOurs(p.Namespace, p.labels) || r.isAside(p.podFacts) {
		return lack{}, false
	}
	what := "had never existed"
	if gone, known := r.gone[name]; known {
		what = fmt.Sprintf("was gone since resource version %s", gone.revision)
	}
	return lack{
		since: lastOf(*r.installed, r.gone[name], p.namesSince),
		kind:  v1alpha1.PodSequenceKind.Kind, name: name.String(), charge: "its label names PodSequence " + name.String() + ", which " + what,
	}, true
}

// lacksAny returns what a pod lacks that no sequence has, if its namespace requires one.
func (r *requirements) lacksAny(p *pod, inForce []*version) (lack, bool) {
	required, is := r.requiring[p.Namespace]
	if !is || r.installed == nil || isOurs(p.Namespace, p.labels) || r.isAside(p.podFacts) {
		return lack{}, false
	}
	for _, v := range inForce {
		if _, member := v.groupOf(p.podFacts); member {
			return lack{}, false
		}
	}
	since := lastOf(*r.installed, required, p.labelledSince)
	for _, v := range r.retired {
		if _, member := v.groupOf(p.podFacts, false, v.groupsIn(p.Namespace)); member {
			since = lastOf(since, v.at)
		}
	}
	return lack{since: since, kind: "Namespace", name: p.Namespace, charge: "its namespace requires a sequence, and none had it"}, true
}

func (r retired) groupsIn(namespace string) []int {
	if in, known := r.reach[namespace]; known {
		return in
	}
	return r.sequenceFacts.groupsIn(namespace, nil)
}

// excuses reports whether the scheduler may have bound or released the pod before it could know.
func (l lack) excuses(b binding, rules *rules) bool {
	return b.created < l.since.revision && !l.since.arrived.Before(rules.windowBefore(b.event.arrived))
}

func (l lack) violation(b binding) Violation {
	out := b.violation()
	out.Kind, out.Sequence, out.Reason = l.kind, l.name, l.charge
	return out
}

// isAside reports whether a pod, or its Job, is a hook that is no part of the start.
func (r *requirements) isAside(p *podFacts) bool {
	return p.aside || p.owner.uid != "" && r.asides.Has(p.owner.uid)
}

// putHook takes in whether a Job is such a hook. It reports whether that concerns its pods.
func (r *requirements) putHook(f *workloadFacts, deleted bool) bool {
	was := r.asides.Has(f.uid)
	if r.asides.Delete(f.uid); f.aside && !deleted {
		r.asides.Insert(f.uid)
	}
	return was != r.asides.Has(f.uid)
}
