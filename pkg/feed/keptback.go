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
	// namespaces are the incomplete namespaces, and clusters the ClusterPodSequences that wait for some of them.
	incomplete  map[string]*incompleteNamespace
	clusters    map[types.NamespacedName]keptCluster
	clusterCost int
	// labels are those of all Namespaces.
	labels map[string]map[string]string
	// loosened is closed when pods may wait for less than before.
	loosened chan struct{}
}

// incompleteNamespace is what pods of a namespace that is not complete wait for.
type incompleteNamespace struct {
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
	waits    []*watchedNamespace
}

func newKeptBack() *keptBack {
	return &keptBack{
		incomplete: map[string]*incompleteNamespace{}, clusters: map[types.NamespacedName]keptCluster{},
		labels: map[string]map[string]string{}, loosened: make(chan struct{}),
	}
}

func (k *keptBack) addNamespace(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.incomplete[name] = &incompleteNamespace{
		sequences: map[types.NamespacedName]sequence.Interest{}, unread: map[types.NamespacedName]struct{}{},
	}
}

func (k *keptBack) forgetNamespace(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.incomplete, name)
}

// setWhy notes why it takes long until a namespace is complete.
func (k *keptBack) setWhy(name, why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ns := k.incomplete[name]; ns != nil {
		ns.why = why
	}
}

// holdPodsFor makes the pods of an incomplete namespace that match the sequence wait for it.
func (k *keptBack) holdPodsFor(name string, key types.NamespacedName, interest sequence.Interest) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ns := k.incomplete[name]
	ns.remove(key)
	ns.sequences[key] = interest
	ns.cost += interest.MatchCost()
}

// holdAllPodsFor is holdPodsFor for a sequence of which the spec is not at hand. All pods of the namespace wait.
func (k *keptBack) holdAllPodsFor(name string, key types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.incomplete[name].unread[key] = struct{}{}
}

// unblockPods unblocks the pods of an incomplete namespace that waited for the sequence.
func (k *keptBack) unblockPods(name string, key types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ns := k.incomplete[name]; ns != nil {
		ns.remove(key)
	}
}

func (ns *incompleteNamespace) remove(key types.NamespacedName) {
	delete(ns.unread, key)
	if old, kept := ns.sequences[key]; kept {
		ns.cost -= old.MatchCost()
		delete(ns.sequences, key)
	}
}

// setCluster makes pods wait for a ClusterPodSequence, or releases them if it waits for no namespace.
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

// announceLoosened wakes everybody who waits for loosened to be closed.
func (k *keptBack) announceLoosened() {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.loosened)
	k.loosened = make(chan struct{})
}

// nextLoosened returns a channel that is closed when pods may wait for less than before the call.
func (k *keptBack) nextLoosened() <-chan struct{} {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.loosened
}

// holds reports whether a sequence that is kept back may hold the pod. If the engine does not receive it for long, why says
// so.
func (k *keptBack) holds(pod sequence.Identity) (why string, holds bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	labels, exists := k.labels[pod.Namespace]
	if ns := k.incomplete[pod.Namespace]; ns != nil {
		// A tenant may have many sequences, and the scheduler's queue waits for the answer.
		holds := len(ns.unread) > 0 || ns.cost > sequence.MaxMatchCost
		for _, interest := range ns.sequences {
			holds = holds || interest.MayHold(pod, labels, exists)
		}
		if holds {
			return ns.why, true
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
		if ns := k.incomplete[waits.name]; ns != nil && ns.why != "" {
			return fmt.Sprintf("%s waits for namespace %s: %s", sequence.NameOf(key), waits.name, ns.why)
		}
	}
	return ""
}
