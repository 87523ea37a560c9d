package sequence

import (
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/spec"
)

// existing is which sequences there are by name, and which namespaces require one. Readers look at it without waiting for an event, so
// what is gone leaves before anything else that its event changes is published, and what is new comes after the namespaces that it
// reaches: who finds a sequence here finds it there.
type existing struct {
	sequences sync.Map // by types.NamespacedName
	// namespaces maps the known namespaces to whether they require a sequence; requiring counts those that do.
	namespaces sync.Map
	requiring  atomic.Int64
	// uninstalled reports that the kind PodSequence is not installed. Then nobody can create what pods wait for.
	uninstalled atomic.Bool
}

// join returns what decides whether a pod waits for a sequence that does not exist. selected reports whether it has memberships.
func (x *existing) join(p *pod, selected bool, set *settings) spec.Join {
	if x.uninstalled.Load() || spec.IsOwn(set.InstallationNamespace, p.Namespace, &p.Labels) {
		return spec.Join{}
	}
	j := spec.Join{
		Ours: set.isOurs(p), Gated: set.hasLiftableGate(p), Named: spec.NamedSequence(&p.Labels),
		Required: x.requires(p.Namespace), Selected: selected,
	}
	if j.Named != "" {
		_, j.Exists = x.sequences.Load(types.NamespacedName{Namespace: p.Namespace, Name: j.Named})
	}
	return j
}

// missing is what the pod waits for because it does not exist.
func (x *existing) missing(p *pod, set *settings) spec.Missing {
	return x.join(p, len(p.memberships()) > 0, set).Missing()
}

// concerns reports whether a pod may wait for a sequence that does not exist.
func (x *existing) concerns(object *corev1.Pod) bool {
	return object.Labels[v1alpha1.SequenceLabel] != "" || x.requires(object.Namespace)
}

// requires reports whether a namespace requires a sequence.
func (x *existing) requires(namespace string) bool {
	required, known := x.namespaces.Load(namespace)
	return known && required.(bool)
}

// asksNamespaces reports whether it matters what the Namespace says, which the engine may not know yet: it does not know the namespace,
// or namespaces that require a sequence are in use. Of the first Namespace that comes to require one, pods that were created at the
// same time may not know.
func (x *existing) asksNamespaces(namespace string) bool {
	_, known := x.namespaces.Load(namespace)
	return !known || x.requiring.Load() > 0
}

// setNamespace notes whether a namespace requires a sequence. It returns whether that is news.
func (x *existing) setNamespace(name string, required bool) bool {
	was := x.requires(name)
	x.namespaces.Store(name, required)
	x.count(was, required)
	return was != required
}

func (x *existing) forgetNamespace(name string) {
	x.count(x.requires(name), false)
	x.namespaces.Delete(name)
}

func (x *existing) count(was, is bool) {
	switch {
	case is && !was:
		x.requiring.Add(1)
	case was && !is:
		x.requiring.Add(-1)
	}
}

// publishGone and publishCome publish which of the sequences of a transaction are there no more, and which are there.
func (k *knowledge) publishGone(tx *transaction) {
	for _, key := range tx.edited {
		if k.sequences[key] == nil {
			k.published.existing.sequences.Delete(key)
		}
	}
}

func (k *knowledge) publishCome(tx *transaction) {
	for _, key := range tx.edited {
		if k.sequences[key] != nil {
			k.published.existing.sequences.Store(key, nil)
		}
	}
}

// markNamingDirty marks for re-evaluation the pods that name a sequence which came or went. What else they wait for may have changed since
// they were created, and before the sequence was: that is confirmed again.
func (k *knowledge) markNamingDirty(key types.NamespacedName, tx *transaction) {
	for _, p := range k.namespaces.pods(key.Namespace) {
		if !p.Bound() && spec.NamedSequence(&p.Labels) == key.Name {
			p.placed = p.placed.And(tx.Question)
			tx.dirtyPods = append(tx.dirtyPods, p)
		}
	}
}

// markUnselectedDirty marks for re-evaluation the pods of a namespace that no sequence selects.
func (k *knowledge) markUnselectedDirty(namespace string, tx *transaction) {
	for _, p := range k.namespaces.pods(namespace) {
		if !p.Bound() && len(p.memberships()) == 0 {
			tx.dirtyPods = append(tx.dirtyPods, p)
		}
	}
}

// KindInstalled tells the engine whether the kind PodSequence is installed. Until it is told, the kind is.
func (e *Engine) KindInstalled(installed bool) Changes {
	return e.settleAfter(func() *transaction {
		tx := &transaction{}
		if e.published.existing.uninstalled.Swap(!installed) == installed {
			for name := range e.namespaces {
				for _, p := range e.namespaces.pods(name) {
					if !p.Bound() && (spec.NamedSequence(&p.Labels) != "" || e.published.existing.requires(name)) {
						tx.dirtyPods = append(tx.dirtyPods, p)
					}
				}
			}
		}
		return tx
	})
}
