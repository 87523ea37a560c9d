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
// All fields but kept and kick are guarded by Feed.deliver.
type interest struct {
	kinds int // of pods and workloads
	// installation is where PodSequence itself runs, see sequence.Config.
	installation string
	spaces       map[string]*space
	// targets maps each PodSequence to the namespace that it speaks of, and counted maps each sequence to the namespaces where it
	// counts, because they allow it to speak of them.
	targets map[types.NamespacedName]string
	counted map[types.NamespacedName]map[string]struct{}
	// foreign are the PodSequences of other namespaces that speak of a namespace, whether it allows them or not, and consents
	// what the annotations of namespaces say that have one.
	foreign  map[string]map[types.NamespacedName]struct{}
	consents map[string]string
	clusters map[types.NamespacedName]*clusterSequence

	incomplete int      // how many spaces are
	queue      []*space // those that nobody lists yet
	abandoned  []*space // those that were incomplete when the last PodSequence left them

	unused map[*space]struct{} // those of which no PodSequence speaks any more

	kept *keptBack // what the engine has not received yet
	// taken are the ClusterPodSequences that leave kept once the engine has received them; unsettled reports that fewer pods may
	// wait then.
	taken     []types.NamespacedName
	unsettled bool
	advanced  bool          // fewer pods may wait, which nobody has announced yet
	kick      chan struct{} // has a token when there is something to do for keepInterest
}

// space is a namespace of interest.
type space struct {
	name      string
	sequences int       // how many PodSequences speak of it
	emptied   time.Time // since when none does
	complete  bool      // everything that there is in it is known
	kinds     []spaceKind
	// held are the PodSequences that the engine does not get before the space is complete, and namespace is the Namespace
	// itself if that has changed meanwhile.
	held      map[types.NamespacedName]sequence.Stored
	namespace *corev1.Namespace
}

// spaceKind is what is known of one kind in a space.
type spaceKind struct {
	version string // of the list that has been entered; empty until then
	others  bool   // the list left out what is wanted of all namespaces
	gone    map[types.UID]struct{}
}

func newInterest(kinds int) *interest {
	return &interest{
		kinds: kinds, spaces: map[string]*space{}, targets: map[types.NamespacedName]string{},
		counted:  map[types.NamespacedName]map[string]struct{}{},
		clusters: map[types.NamespacedName]*clusterSequence{},
		foreign:  map[string]map[types.NamespacedName]struct{}{}, consents: map[string]string{},
		unused: map[*space]struct{}{}, kept: newKeptBack(), kick: make(chan struct{}, 1),
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
	if i.targets[key] != target {
		i.remove(key, now)
		i.targets[key] = target
	}
	if target != key.Namespace {
		if i.foreign[target] == nil {
			i.foreign[target] = map[types.NamespacedName]struct{}{}
		}
		i.foreign[target][key] = struct{}{}
	}
	sp := i.spaces[target]
	if target == key.Namespace || sequence.MayConsent(i.consents[target], key.Namespace) {
		sp = i.add(key, target, nil)
	}
	if sp == nil || sp.complete {
		return false
	}
	// One that is not allowed has no members, but the engine may be behind with consent, too.
	sp.held[key] = ps
	i.kept.keep(target, key, sequence.InterestOf(ps, i.installation))
	i.unsettled = true // if it is an edit, pods may wait no more that the sequence spoke of before
	return true
}

// add counts a sequence in a namespace of which it speaks. interest is nil for a PodSequence that the engine knows, or will be
// kept from it.
func (i *interest) add(key types.NamespacedName, target string, interest *sequence.Interest) *space {
	sp := i.spaces[target]
	if sp == nil {
		sp = &space{name: target, kinds: make([]spaceKind, i.kinds), held: map[types.NamespacedName]sequence.Stored{}}
		i.spaces[target] = sp
		namespacesOfInterest.Set(float64(len(i.spaces)))
		i.incomplete++
		i.kept.addSpace(target)
		i.queue = append(i.queue, sp)
		wake(i.kick)
	}
	if _, counted := i.counted[key][target]; !counted {
		if i.counted[key] == nil {
			i.counted[key] = map[string]struct{}{}
		}
		i.counted[key][target] = struct{}{}
		sp.sequences++
		delete(i.unused, sp)
	}
	if sp.complete {
		return sp
	}
	if _, held := sp.held[key]; interest != nil {
		i.kept.keep(target, key, *interest)
	} else if !held {
		i.kept.keepUnread(target, key)
	}
	return sp
}

// remove forgets a sequence that is gone, or speaks of another namespace now.
func (i *interest) remove(key types.NamespacedName, now time.Time) {
	if key.Namespace == "" {
		i.removeCluster(key, now)
		return
	}
	target := i.targets[key]
	if sp := i.spaces[target]; sp != nil && sp.held[key].PodSequence != nil {
		delete(sp.held, key)
		i.kept.release(target, key)
		i.unsettled = true
	}
	i.leave(key, target, now)
	delete(i.targets, key)
	if keys := i.foreign[target]; keys != nil {
		if delete(keys, key); len(keys) == 0 {
			delete(i.foreign, target)
		}
	}
}

// leave stops counting a sequence in a namespace.
func (i *interest) leave(key types.NamespacedName, target string, now time.Time) {
	if _, counted := i.counted[key][target]; !counted {
		return
	}
	if delete(i.counted[key], target); len(i.counted[key]) == 0 {
		delete(i.counted, key)
	}
	sp := i.spaces[target]
	if _, held := sp.held[key]; !sp.complete && !held { // one that is held may be allowed by what is not known yet
		i.kept.release(target, key)
		i.unsettled = true
	}
	if sp.sequences--; sp.sequences > 0 {
		return
	}
	if sp.complete {
		sp.emptied = now
		i.unused[sp] = struct{}{}
		wake(i.kick)
		return
	}
	delete(i.spaces, sp.name)
	namespacesOfInterest.Set(float64(len(i.spaces)))
	i.incomplete--
	i.kept.forgetSpace(sp.name)
	i.abandoned = append(i.abandoned, sp)
	i.unsettled = true
}

// keepOnly forgets all sequences of a kind but those.
func (i *interest) keepOnly(present map[types.NamespacedName]struct{}, cluster bool, now time.Time) {
	gone := func(key types.NamespacedName) bool { _, is := present[key]; return !is }
	for key := range i.targets {
		if !cluster && gone(key) {
			i.remove(key, now)
		}
	}
	for key := range i.clusters {
		if cluster && gone(key) {
			i.remove(key, now)
		}
	}
}

// holdNamespace takes a Namespace that was created or changed. It reports whether the engine must not get it yet, because
// some sequence speaks of the namespace, which is not complete: what the Namespace says may make the sequence count there.
func (i *interest) holdNamespace(namespace *corev1.Namespace, now time.Time) bool {
	i.setConsent(namespace.Name, namespace.Annotations[v1alpha1.AllowSequencesFromAnnotation], now)
	i.setLabels(namespace.Name, namespace.Labels, true, now)
	sp := i.spaces[namespace.Name]
	if sp == nil || sp.complete {
		return false
	}
	sp.namespace = trimNamespace(namespace)
	return true
}

// dropNamespace takes a Namespace that is gone.
func (i *interest) dropNamespace(name string, now time.Time) {
	i.setConsent(name, "", now)
	i.setLabels(name, nil, false, now)
	if sp := i.spaces[name]; sp != nil {
		sp.namespace = nil
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

// holding returns the namespaces whose Namespace object the engine has not received yet.
func (i *interest) holding() []*space {
	if i.incomplete == 0 {
		return nil
	}
	var holding []*space
	for _, sp := range i.spaces {
		if sp.namespace != nil {
			holding = append(holding, sp)
		}
	}
	return holding
}

func (i *interest) setConsent(name, list string, now time.Time) {
	if list == "" {
		delete(i.consents, name)
	} else {
		i.consents[name] = list
	}
	for key := range i.foreign[name] {
		if sequence.MayConsent(list, key.Namespace) {
			i.add(key, name, nil)
		} else {
			i.leave(key, name, now)
		}
	}
}

// inherit moves what was kept back for an abandoned space to the new space of the same namespace.
func (i *interest) inherit(sp, old *space) {
	for key, ps := range old.held {
		if _, newer := sp.held[key]; !newer {
			sp.held[key] = ps
			i.kept.keep(sp.name, key, sequence.InterestOf(ps, i.installation))
		}
	}
	if sp.namespace == nil {
		sp.namespace = old.namespace
	}
}

// complete marks a space as complete. It returns what was kept back for it; the engine must receive that before forget is called.
func (i *interest) complete(sp *space) (held []sequence.Stored, namespace *corev1.Namespace) {
	held, namespace = slices.Collect(maps.Values(sp.held)), sp.namespace
	sp.complete, sp.held, sp.namespace = true, nil, nil
	i.incomplete--
	return held, namespace
}

// forget releases the pods of these spaces that waited for what was kept back.
func (i *interest) forget(spaces []*space) {
	for _, sp := range spaces {
		if i.spaces[sp.name] == sp {
			i.kept.forgetSpace(sp.name)
			i.unsettled = true
		}
	}
}

// expired are the spaces that nothing has spoken of for long. They are of interest no more. next is when to look again; zero if
// there is nothing to look for.
func (i *interest) expired(now time.Time) (old []*space, next time.Time) {
	for sp := range i.unused {
		if end := sp.emptied.Add(linger); !now.Before(end) {
			delete(i.unused, sp)
			delete(i.spaces, sp.name)
			old = append(old, sp)
		} else if next.IsZero() || end.Before(next) {
			next = end
		}
	}
	namespacesOfInterest.Set(float64(len(i.spaces)))
	return old, next
}
