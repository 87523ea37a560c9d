package feed

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence"
)

// keptBack knows the sequences that the feed keeps back from the engine, because not everything is known of a namespace of which
// they speak. The pods wait that they may hold: the engine would answer that nothing holds them.
//
// What a sequence may hold follows from its spec, from the pod, and from the labels of the pod's Namespace. How far the sequence
// has come is not known, so it may hold the members of its first group, too.
//
// mu guards all fields. It is held for no more than a look at one pod, or a change of one entry.
type keptBack struct {
	mu sync.RWMutex
	// spaces are the incomplete namespaces, and clusters the ClusterPodSequences that wait for some of them.
	spaces      map[string]*keptSpace
	clusters    map[types.NamespacedName]keptCluster
	clusterCost int
	// labels are those of all Namespaces.
	labels map[string]map[string]string
	// fewer is closed when pods may wait for less than before.
	fewer chan struct{}
}

// keptSpace is an incomplete namespace.
type keptSpace struct {
	why string // it takes long until it is complete; empty if it does not
	// sequences are those that will count in the namespace when it is complete. unread are those of which the feed does not
	// have the spec.
	sequences map[types.NamespacedName]sequence.Interest
	unread    map[types.NamespacedName]struct{}
	cost      int // of matching a pod with sequences
}

// keptCluster is a ClusterPodSequence, and the namespaces that were incomplete when it came.
type keptCluster struct {
	interest sequence.Interest
	waits    []*space
}

func newKeptBack() *keptBack {
	return &keptBack{
		spaces: map[string]*keptSpace{}, clusters: map[types.NamespacedName]keptCluster{},
		labels: map[string]map[string]string{}, fewer: make(chan struct{}),
	}
}

func (k *keptBack) addSpace(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spaces[name] = &keptSpace{sequences: map[types.NamespacedName]sequence.Interest{}, unread: map[types.NamespacedName]struct{}{}}
}

func (k *keptBack) forgetSpace(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.spaces, name)
}

// setWhy notes why it takes long until a namespace is complete.
func (k *keptBack) setWhy(name, why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if sp := k.spaces[name]; sp != nil {
		sp.why = why
	}
}

// keep makes the pods of an incomplete namespace that match the sequence wait for it.
func (k *keptBack) keep(name string, key types.NamespacedName, interest sequence.Interest) {
	k.mu.Lock()
	defer k.mu.Unlock()
	sp := k.spaces[name]
	sp.remove(key)
	sp.sequences[key] = interest
	sp.cost += interest.MatchCost()
}

// keepUnread is keep for a sequence of which the spec is not at hand. All pods of the namespace wait.
func (k *keptBack) keepUnread(name string, key types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spaces[name].unread[key] = struct{}{}
}

// release unblocks the pods of an incomplete namespace that waited for the sequence.
func (k *keptBack) release(name string, key types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if sp := k.spaces[name]; sp != nil {
		sp.remove(key)
	}
}

func (sp *keptSpace) remove(key types.NamespacedName) {
	delete(sp.unread, key)
	if old, kept := sp.sequences[key]; kept {
		sp.cost -= old.MatchCost()
		delete(sp.sequences, key)
	}
}

// setCluster makes pods wait for a ClusterPodSequence, or releases them if it waits for no space.
func (k *keptBack) setCluster(key types.NamespacedName, c keptCluster) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old, kept := k.clusters[key]; kept {
		k.clusterCost -= old.interest.MatchCost()
		delete(k.clusters, key)
	}
	if len(c.waits) > 0 {
		k.clusters[key] = c
		k.clusterCost += c.interest.MatchCost()
	}
}

// hasClusters reports whether any ClusterPodSequence is kept back.
func (k *keptBack) hasClusters() bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return len(k.clusters) > 0
}

// setLabels notes the labels of a Namespace.
func (k *keptBack) setLabels(name string, labels map[string]string, exists bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if exists {
		k.labels[name] = labels
	} else {
		delete(k.labels, name)
	}
}

// namespaces calls yield with the labels of each Namespace.
func (k *keptBack) namespaces(yield func(name string, labels map[string]string)) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for name, labels := range k.labels {
		yield(name, labels)
	}
}

// wake wakes everybody who waits for fewer to be closed.
func (k *keptBack) wake() {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.fewer)
	k.fewer = make(chan struct{})
}

// nextFewer returns a channel that is closed when pods may wait for less than before the call.
func (k *keptBack) nextFewer() <-chan struct{} {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.fewer
}

// dependsOnNamespace reports whether the labels of the pod's namespace may decide whether the pod waits for a ClusterPodSequence.
func (k *keptBack) dependsOnNamespace(pod sequence.Identity) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.clusterCost > sequence.MaxMatchCost {
		return true
	}
	for _, c := range k.clusters {
		if c.interest.DependsOnNamespace(pod) {
			return true
		}
	}
	return false
}

// holds reports whether a sequence that is kept back may hold the pod. If the engine does not receive it for long, why says
// so.
func (k *keptBack) holds(pod sequence.Identity) (why string, holds bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	labels, exists := k.labels[pod.Namespace]
	if sp := k.spaces[pod.Namespace]; sp != nil {
		// A tenant may have many sequences, and the scheduler's queue waits for the answer.
		holds := len(sp.unread) > 0 || sp.cost > sequence.MaxMatchCost
		for _, interest := range sp.sequences {
			holds = holds || interest.MayHold(pod, labels, exists)
		}
		if holds {
			return sp.why, true
		}
	}
	for key, c := range k.clusters {
		if k.clusterCost > sequence.MaxMatchCost || c.interest.MayHold(pod, labels, exists) {
			return k.whyWaits(key, c), true
		}
	}
	return "", false
}

// whyWaits says which namespace a ClusterPodSequence waits for that cannot be listed; empty if all can.
func (k *keptBack) whyWaits(key types.NamespacedName, c keptCluster) string {
	for _, waits := range c.waits {
		if sp := k.spaces[waits.name]; sp != nil && sp.why != "" {
			return fmt.Sprintf("%s waits for namespace %s: %s", sequence.NameOf(key), waits.name, sp.why)
		}
	}
	return ""
}

// whyIncomplete says why it takes long until a namespace is complete; empty if it does not.
func (k *keptBack) whyIncomplete(name string) string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if sp := k.spaces[name]; sp != nil {
		return sp.why
	}
	return ""
}
