package feed

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
)

// linger is how long a namespace stays of interest when no PodSequence speaks of it any more. So a PodSequence that comes and goes
// does not cause a list of everything each time.
const linger = time.Minute

// interest knows the namespaces of interest: those of which a PodSequence speaks that the namespace allows. The package comment
// says what that is for.
//
// All fields but kept and wakeup are guarded by Feed.deliver.
type interest struct {
	kinds int // of pods and workloads
	// installation is where PodSequence itself runs, see sequence.Config.
	installation string
	namespaces   map[string]*watchedNamespace
	// targetOf maps each PodSequence to the namespace that it speaks of, and countsIn maps each sequence to the namespaces where it
	// counts, because they allow it to speak of them.
	targetOf map[types.NamespacedName]string
	countsIn map[types.NamespacedName]map[string]struct{}
	// foreign are the PodSequences of other namespaces that speak of a namespace, whether it allows them or not, and consents
	// what the annotations of namespaces say that have one.
	foreign  map[string]map[types.NamespacedName]struct{}
	consents map[string]string
	clusters map[types.NamespacedName]*clusterSequence

	incomplete int                 // how many namespaces are
	queue      []*watchedNamespace // those that nobody lists yet
	abandoned  []*watchedNamespace // those that were incomplete when the last PodSequence left them

	unused map[*watchedNamespace]struct{} // those of which no PodSequence speaks any more

	kept *keptBack // what the engine has not received yet
	// none is the interest of a sequence without groups: it holds no pod.
	none sequence.Interest
	// taken are the ClusterPodSequences that leave kept once the engine has received them; unsettled reports that fewer pods may
	// wait then.
	taken     []types.NamespacedName
	unsettled bool
	advanced  bool          // fewer pods may wait, which nobody has announced yet
	wakeup    chan struct{} // has a token when there is something to do for keepInterest
}

// watchedNamespace is a namespace of interest.
type watchedNamespace struct {
	name      string
	sequences int       // how many PodSequences speak of it
	emptied   time.Time // since when none does
	complete  bool      // everything that there is in it is known
	kinds     []watchedKindState
	// held are the PodSequences that the engine does not get before the namespace is complete, and namespace is the Namespace
	// itself if that has changed meanwhile.
	held      map[types.NamespacedName]sequence.Stored
	namespace *corev1.Namespace
}

// watchedKindState is what is known of one kind in a namespace.
type watchedKindState struct {
	version           string // of the list that has been entered; empty until then
	withoutWanted     bool   // the list left out what is wanted of all namespaces
	deletedDuringList map[types.UID]struct{}
}

func newInterest(kinds int) *interest {
	return &interest{
		kinds: kinds, namespaces: map[string]*watchedNamespace{}, targetOf: map[types.NamespacedName]string{},
		countsIn: map[types.NamespacedName]map[string]struct{}{},
		clusters: map[types.NamespacedName]*clusterSequence{},
		foreign:  map[string]map[types.NamespacedName]struct{}{}, consents: map[string]string{},
		unused: map[*watchedNamespace]struct{}{}, kept: newKeptBack(), wakeup: make(chan struct{}, 1),
		none: sequence.InterestOf(sequence.Stored{PodSequence: &v1alpha1.PodSequence{}}, ""),
	}
}

// isKnown reports whether all is known that there is in the namespaces of which sequences speak.
func (i *interest) isKnown() bool { return i.incomplete == 0 }

// holdBack takes a PodSequence that was created or changed. It reports whether the engine must not get it yet. Then it
// is kept until the namespace of which it speaks is complete.
func (i *interest) holdBack(ps sequence.Stored, now time.Time) bool {
	key := types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name}
	if ps.Cluster != nil {
		return i.holdCluster(key, ps, now)
	}
	target := sequence.TargetNamespace(ps.PodSequence)
	if i.targetOf[key] != target {
		i.forgetSequence(key, now)
		i.targetOf[key] = target
	}
	if target != key.Namespace {
		if i.foreign[target] == nil {
			i.foreign[target] = map[types.NamespacedName]struct{}{}
		}
		i.foreign[target][key] = struct{}{}
	}
	ns := i.namespaces[target]
	if target == key.Namespace || sequence.MayConsent(i.consents[target], key.Namespace) {
		ns = i.addSequence(key, target, nil)
	}
	if ns == nil || ns.complete {
		return false
	}
	// One that is not allowed has no members, but the engine may be behind with consent, too.
	ns.held[key] = ps
	i.kept.holdPodsFor(target, key, sequence.InterestOf(ps, i.installation))
	i.unsettled = true // if it is an edit, pods may wait no more that the sequence spoke of before
	return true
}

// addSequence counts a sequence in a namespace of which it speaks. interest is nil for a PodSequence that the engine knows, or will be
// kept from it.
func (i *interest) addSequence(key types.NamespacedName, target string, interest *sequence.Interest) *watchedNamespace {
	ns := i.namespaces[target]
	if ns == nil {
		ns = &watchedNamespace{name: target, kinds: make([]watchedKindState, i.kinds), held: map[types.NamespacedName]sequence.Stored{}}
		i.namespaces[target] = ns
		namespacesOfInterest.Set(float64(len(i.namespaces)))
		i.incomplete++
		i.kept.addNamespace(target)
		i.queue = append(i.queue, ns)
		wake(i.wakeup)
	}
	if _, counted := i.countsIn[key][target]; !counted {
		if i.countsIn[key] == nil {
			i.countsIn[key] = map[string]struct{}{}
		}
		i.countsIn[key][target] = struct{}{}
		ns.sequences++
		delete(i.unused, ns)
	}
	if ns.complete {
		return ns
	}
	if _, held := ns.held[key]; interest != nil {
		i.kept.holdPodsFor(target, key, *interest)
	} else if !held {
		i.kept.holdAllPodsFor(target, key)
	}
	return ns
}

// forgetSequence forgets a sequence that is gone, or speaks of another namespace now.
func (i *interest) forgetSequence(key types.NamespacedName, now time.Time) {
	if key.Namespace == "" {
		i.forgetCluster(key, now)
		return
	}
	target := i.targetOf[key]
	if ns := i.namespaces[target]; ns != nil && ns.held[key].PodSequence != nil {
		delete(ns.held, key)
		i.kept.unblockPods(target, key)
		i.unsettled = true
	}
	i.removeSequence(key, target, now)
	delete(i.targetOf, key)
	if keys := i.foreign[target]; keys != nil {
		if delete(keys, key); len(keys) == 0 {
			delete(i.foreign, target)
		}
	}
}

// removeSequence stops counting a sequence in a namespace.
func (i *interest) removeSequence(key types.NamespacedName, target string, now time.Time) {
	if _, counted := i.countsIn[key][target]; !counted {
		return
	}
	if delete(i.countsIn[key], target); len(i.countsIn[key]) == 0 {
		delete(i.countsIn, key)
	}
	ns := i.namespaces[target]
	if _, held := ns.held[key]; !ns.complete && !held { // one that is held may be allowed by what is not known yet
		i.kept.unblockPods(target, key)
		i.unsettled = true
	}
	if ns.sequences--; ns.sequences > 0 {
		return
	}
	if ns.complete {
		ns.emptied = now
		i.unused[ns] = struct{}{}
		wake(i.wakeup)
		return
	}
	delete(i.namespaces, ns.name)
	namespacesOfInterest.Set(float64(len(i.namespaces)))
	i.incomplete--
	i.kept.forgetNamespace(ns.name)
	i.abandoned = append(i.abandoned, ns)
	i.unsettled = true
}

// keepOnly forgets all sequences of a kind but those.
func (i *interest) keepOnly(present map[types.NamespacedName]struct{}, cluster bool, now time.Time) {
	gone := func(key types.NamespacedName) bool { _, is := present[key]; return !is }
	for key := range i.targetOf {
		if !cluster && gone(key) {
			i.forgetSequence(key, now)
		}
	}
	for key := range i.clusters {
		if cluster && gone(key) {
			i.forgetSequence(key, now)
		}
	}
}

// holdNamespace takes a Namespace that was created or changed. It reports whether the engine must not get it yet, because
// some sequence speaks of the namespace, which is not complete: what the Namespace says may make the sequence count there.
func (i *interest) holdNamespace(namespace *corev1.Namespace, now time.Time) bool {
	i.setConsent(namespace.Name, namespace.Annotations[v1alpha1.AllowSequencesFromAnnotation], now)
	i.setLabels(namespace.Name, namespace.Labels, true, now)
	i.setRequirement(namespace.Name, namespace.Annotations[v1alpha1.RequireSequenceAnnotation] == v1alpha1.RequireSequence, now)
	ns := i.namespaces[namespace.Name]
	if ns == nil || ns.complete {
		return false
	}
	ns.namespace = trimNamespace(namespace)
	return true
}

// dropNamespace takes a Namespace that is gone.
func (i *interest) dropNamespace(name string, now time.Time) {
	i.setConsent(name, "", now)
	i.setLabels(name, nil, false, now)
	i.setRequirement(name, false, now)
	if ns := i.namespaces[name]; ns != nil {
		ns.namespace = nil
	}
}

// dropNamespaces takes that there are no namespaces but those.
func (i *interest) dropNamespaces(present map[string]struct{}, now time.Time) {
	var gone []string
	i.kept.namespaces(func(name string, _ map[string]string) {
		if _, is := present[name]; !is {
			gone = append(gone, name)
		}
	})
	for _, name := range gone {
		i.dropNamespace(name, now)
	}
}

// setRequirement makes a namespace of interest that requires a sequence, though no sequence may speak of it: a pod that waits for one is
// released if the Job that owns it is a hook that no order concerns, and the engine must know that Job.
func (i *interest) setRequirement(name string, required bool, now time.Time) {
	key := types.NamespacedName{Namespace: name} // no sequence has this key
	if required {
		i.addSequence(key, name, &i.none)
	} else {
		i.removeSequence(key, name, now)
	}
}

func (i *interest) setConsent(name, list string, now time.Time) {
	if list == "" {
		delete(i.consents, name)
	} else {
		i.consents[name] = list
	}
	for key := range i.foreign[name] {
		if sequence.MayConsent(list, key.Namespace) {
			i.addSequence(key, name, nil)
		} else {
			i.removeSequence(key, name, now)
		}
	}
}

// moveHeldBack moves what was kept back for an abandoned namespace to the new namespace of the same namespace.
func (i *interest) moveHeldBack(ns, old *watchedNamespace) {
	for key, ps := range old.held {
		if _, newer := ns.held[key]; !newer {
			ns.held[key] = ps
			i.kept.holdPodsFor(ns.name, key, sequence.InterestOf(ps, i.installation))
		}
	}
	if ns.namespace == nil {
		ns.namespace = old.namespace
	}
}

// markComplete marks a namespace as complete. It returns what was kept back for it; the engine must receive that before releaseWaitingPods
// is called.
func (i *interest) markComplete(ns *watchedNamespace) (held []sequence.Stored, namespace *corev1.Namespace) {
	held, namespace = slices.Collect(maps.Values(ns.held)), ns.namespace
	ns.complete, ns.held, ns.namespace = true, nil, nil
	i.incomplete--
	return held, namespace
}

// releaseWaitingPods releases the pods of these namespaces that waited for what was kept back.
func (i *interest) releaseWaitingPods(namespaces []*watchedNamespace) {
	for _, ns := range namespaces {
		if i.namespaces[ns.name] == ns {
			i.kept.forgetNamespace(ns.name)
			i.unsettled = true
		}
	}
}

// expired are the namespaces that nothing has spoken of for long. They are of interest no more. next is when to look again; zero if
// there is nothing to look for.
func (i *interest) expired(now time.Time) (old []*watchedNamespace, next time.Time) {
	for ns := range i.unused {
		if end := ns.emptied.Add(linger); !now.Before(end) {
			delete(i.unused, ns)
			delete(i.namespaces, ns.name)
			old = append(old, ns)
		} else if next.IsZero() || end.Before(next) {
			next = end
		}
	}
	namespacesOfInterest.Set(float64(len(i.namespaces)))
	return old, next
}
