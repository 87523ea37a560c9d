package feed

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
)

// linger is how long a namespace stays of interest when no PodSequence speaks of it any more: one that comes and goes does not
// have everything listed each time.
const linger = time.Minute

// interest knows the namespaces of interest: those of which a PodSequence speaks that the namespace allows. The package comment
// says what that is for.
//
// All fields but waiting and kick are guarded by Feed.deliver.
type interest struct {
	kinds  int // of pods and workloads
	spaces map[string]*space
	// targets has the namespace of which each PodSequence speaks, and counted those PodSequences that are allowed to.
	targets map[types.NamespacedName]string
	counted map[types.NamespacedName]struct{}
	// foreign are the PodSequences of other namespaces that speak of a namespace, whether it allows them or not, and consents
	// what the annotations of namespaces say that have one.
	foreign  map[string]map[types.NamespacedName]struct{}
	consents map[string]string

	listed     bool     // all PodSequences are known
	incomplete int      // how many spaces are
	queue      []*space // those that nobody lists yet
	abandoned  []*space // those that were incomplete when the last PodSequence left them

	unused map[*space]struct{} // those of which no PodSequence speaks any more

	waiting sync.Map      // why, by name of the incomplete spaces; it is read without a lock
	kick    chan struct{} // has a token when there is something to do for keepInterest
}

// space is a namespace of interest.
type space struct {
	name      string
	sequences int       // how many PodSequences speak of it
	emptied   time.Time // since when none does
	complete  bool      // everything that there is in it is known
	kinds     []spaceKind
	// held are the PodSequences that the engine does not get before the space is complete, and consent is the Namespace
	// itself if that has changed meanwhile.
	held    map[types.NamespacedName]sequence.Stored
	consent *corev1.Namespace
}

// spaceKind is what is known of one kind in a space.
type spaceKind struct {
	version string // of the list that has been entered; empty until then
	gone    map[types.UID]struct{}
}

func newInterest(kinds int) *interest {
	return &interest{
		kinds: kinds, spaces: map[string]*space{}, targets: map[types.NamespacedName]string{},
		counted: map[types.NamespacedName]struct{}{},
		foreign: map[string]map[types.NamespacedName]struct{}{}, consents: map[string]string{},
		unused: map[*space]struct{}{}, kick: make(chan struct{}, 1),
	}
}

// isWaiting says why not everything is known of a namespace of interest.
func (i *interest) isWaiting(namespace string) (why string, waiting bool) {
	found, waiting := i.waiting.Load(namespace)
	if !waiting {
		return "", false
	}
	return found.(string), true
}

// isKnown reports whether all PodSequences are known, and all that there is in the namespaces of which they speak.
func (i *interest) isKnown() bool { return i.listed && i.incomplete == 0 }

// holdBack takes a PodSequence that was created or changed. It reports whether the engine must not get it yet. Then it
// is kept until the namespace of which it speaks is complete.
func (i *interest) holdBack(ps sequence.Stored, now time.Time) bool {
	key := types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name}
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
	if target == key.Namespace || sequence.Consents(i.consents[target], key.Namespace) {
		sp = i.add(key, target)
	}
	if sp == nil || sp.complete {
		return false
	}
	// One that is not allowed has no members, but the engine may be behind with consent, too.
	sp.held[key] = ps
	return true
}

// add counts a PodSequence in the namespace of which it speaks.
func (i *interest) add(key types.NamespacedName, target string) *space {
	sp := i.spaces[target]
	if sp == nil {
		sp = &space{name: target, kinds: make([]spaceKind, i.kinds), held: map[types.NamespacedName]sequence.Stored{}}
		i.spaces[target] = sp
		namespacesOfInterest.Set(float64(len(i.spaces)))
		i.incomplete++
		i.waiting.Store(target, "")
		i.queue = append(i.queue, sp)
		wake(i.kick)
	}
	if _, counted := i.counted[key]; !counted {
		i.counted[key] = struct{}{}
		sp.sequences++
		delete(i.unused, sp)
	}
	return sp
}

// remove forgets a PodSequence that is gone, or speaks of another namespace now.
func (i *interest) remove(key types.NamespacedName, now time.Time) {
	target := i.targets[key]
	if sp := i.spaces[target]; sp != nil {
		delete(sp.held, key)
	}
	i.leave(key, now)
	delete(i.targets, key)
	if keys := i.foreign[target]; keys != nil {
		if delete(keys, key); len(keys) == 0 {
			delete(i.foreign, target)
		}
	}
}

// leave has a PodSequence not count any more.
func (i *interest) leave(key types.NamespacedName, now time.Time) {
	if _, counted := i.counted[key]; !counted {
		return
	}
	delete(i.counted, key)
	sp := i.spaces[i.targets[key]]
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
	i.waiting.Delete(sp.name)
	i.abandoned = append(i.abandoned, sp)
}

// keepOnly forgets all PodSequences but those.
func (i *interest) keepOnly(present map[types.NamespacedName]struct{}, now time.Time) {
	for key := range i.targets {
		if _, is := present[key]; !is {
			i.remove(key, now)
		}
	}
}

// holdConsent takes a Namespace that was created or changed. It reports whether the engine must not get it yet, because
// it allows a PodSequence of which the namespace is not complete.
func (i *interest) holdConsent(namespace *corev1.Namespace, now time.Time) bool {
	i.setConsent(namespace.Name, namespace.Annotations[v1alpha1.AllowSequencesFromAnnotation], now)
	sp := i.spaces[namespace.Name]
	if sp == nil || sp.complete {
		return false
	}
	sp.consent = trimNamespace(namespace)
	return true
}

// dropConsent takes a Namespace that is gone.
func (i *interest) dropConsent(name string, now time.Time) {
	i.setConsent(name, "", now)
	if sp := i.spaces[name]; sp != nil {
		sp.consent = nil
	}
}

// dropConsents takes that there are no namespaces but those.
func (i *interest) dropConsents(present map[string]struct{}, now time.Time) {
	for name := range i.consents {
		if _, is := present[name]; !is {
			i.dropConsent(name, now)
		}
	}
}

func (i *interest) setConsent(name, list string, now time.Time) {
	if list == "" {
		delete(i.consents, name)
	} else {
		i.consents[name] = list
	}
	for key := range i.foreign[name] {
		if sequence.Consents(list, key.Namespace) {
			i.add(key, name)
		} else {
			i.leave(key, now)
		}
	}
}

// inherit takes over what is kept for a space that was abandoned and is of interest again.
func (sp *space) inherit(old *space) {
	for key, ps := range old.held {
		if _, newer := sp.held[key]; !newer {
			sp.held[key] = ps
		}
	}
	if sp.consent == nil {
		sp.consent = old.consent
	}
}

// complete has a space be complete. It returns what was kept for it, which the engine must get before the space ceases to
// wait.
func (i *interest) complete(sp *space) (held []sequence.Stored, consent *corev1.Namespace) {
	held, consent = slices.Collect(maps.Values(sp.held)), sp.consent
	sp.complete, sp.held, sp.consent = true, nil, nil
	i.incomplete--
	return held, consent
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
