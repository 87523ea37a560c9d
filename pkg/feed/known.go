package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"example.com/podsequence/pkg/sequence"
)

// knownKind knows whether the engine knows every object of a kind that there was when a pod was first seen.
//
// Pods and PodSequences come through two watches, and either may be behind the other: a pod that was created a moment
// after its sequence may reach the scheduler before the sequence reaches the engine, and would be bound before its turn. The
// same is true of the consent of a namespace that some PodSequence waits for. All pods that wait share the barrier's lists.
//
// mu guards the fields below it. It is not held while advanced is called.
type knownKind struct {
	barrier *barrier
	watch   *position // of the kind
	pods    *position
	topic   topic
	about   subject
	// advanced is called after more has become known.
	advanced func()
	// wakeup holds a token while unseen is set and nobody waits for it.
	wakeup chan struct{}

	mu      sync.Mutex
	moment  uint64        // no object that there was then is missing
	version string        // nor one from before this version, where versions can be compared
	unseen  string        // the newest version of a pod that was asked about and that the engine does not know yet
	moved   chan struct{} // closed when more is known
}

// newKnownSequences is about all PodSequences, or all ClusterPodSequences. watchAdvanced must be called when their watch has brought
// something.
func newKnownSequences(barrier *barrier, kind *askedKind, cluster bool, pods *position, advanced func()) *knownKind {
	name := "PodSequences"
	if cluster {
		name = "ClusterPodSequences"
	}
	k := newKnownKind(barrier, topic{isCluster: cluster}, kind, pods, advanced, subject{name: name, consequence: "new pods are held"})
	k.about.passed = func(mark) {} // watchAdvanced has done that
	return k
}

// newKnownNamespaces is about all Namespaces, which say what PodSequences they allow, and whose labels ClusterPodSequences select.
func newKnownNamespaces(barrier *barrier, kind *askedKind, pods *position, advanced func()) *knownKind {
	return newKnownKind(barrier, topic{isConsent: true}, kind, pods, advanced, subject{
		name: "Namespaces", consequence: "new pods are held where a PodSequence points to a namespace that does not allow it, or a ClusterPodSequence selects namespaces",
	})
}

func newKnownKind(barrier *barrier, topic topic, kind *askedKind, pods *position, advanced func(), about subject) *knownKind {
	k := &knownKind{
		barrier: barrier, watch: kind.watch, pods: pods, topic: topic, advanced: advanced,
		wakeup: make(chan struct{}, 1), moved: make(chan struct{}),
	}
	k.about = subject{
		kinds: []*askedKind{kind}, name: about.name, consequence: about.consequence,
		passed: func(mark) { k.watchAdvanced() },
		listed: func(moment uint64, version string) {
			k.update(func() { k.moment, k.version = max(k.moment, moment), latest(k.version, version) })
		},
		interval: newPodsInterval,
	}
	return k
}

// watchAdvanced wakes those who wait, after the watch has brought something.
func (k *knownKind) watchAdvanced() { k.update(func() {}) }

func (k *knownKind) update(change func()) {
	k.mu.Lock()
	change()
	close(k.moved)
	k.moved = make(chan struct{})
	k.mu.Unlock()
	k.advanced()
}

// knowsAllBefore reports whether the engine knows every object that there was when the pod was first seen.
func (k *knownKind) knowsAllBefore(pod sequence.FirstSeen) bool {
	comparable := k.barrier.versions.comparable()
	k.mu.Lock()
	defer k.mu.Unlock()
	if comparable && !after(pod.Version, latest(k.version, k.watch.at())) {
		return true
	}
	return pod.Moment > 0 && pod.Moment <= k.moment
}

// knowsAllBeforeOrAsks reports whether the engine knows every such object. If not, it asks to find out.
func (k *knownKind) knowsAllBeforeOrAsks(pod sequence.FirstSeen) bool {
	if k.knowsAllBefore(pod) {
		return true
	}
	k.requestConfirmation(pod)
	return false
}

// requestConfirmation asks to find out whether the engine knows every object that there was when the pod was first seen. It does not wait:
// advanced is called when there is an answer.
func (k *knownKind) requestConfirmation(pod sequence.FirstSeen) {
	if pod.Moment > 0 || k.barrier.versions.comparable() {
		k.barrier.ask(k.topic, k.about, k.barrier.moment(), pod.Version)
		return
	}
	// A list says nothing about a pod before the engine has seen it.
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unseen = latest(k.unseen, pod.Version)
	wake(k.wakeup)
}

var errUnseen = errors.New("the engine does not know the pod yet")

// await returns once the engine knows every object that there was when the pod was first seen.
func (k *knownKind) await(ctx context.Context, pod sequence.FirstSeen) error {
	for {
		k.mu.Lock()
		moved := k.moved
		k.mu.Unlock()
		if k.knowsAllBefore(pod) {
			return nil
		}
		if pod.Moment == 0 && !k.barrier.versions.comparable() {
			return errUnseen
		}
		k.requestConfirmation(pod)
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait to know all %s from before the pod: %w", k.about.name, context.Cause(ctx))
		}
	}
}

// run calls advanced when the engine has come to know pods that were asked about before, until the context ends.
func (k *knownKind) run(ctx context.Context) {
	for {
		select {
		case <-k.wakeup:
		case <-ctx.Done():
			return
		}
		k.mu.Lock()
		unseen := k.unseen
		k.unseen = ""
		k.mu.Unlock()
		if unseen == "" || k.pods.await(ctx, unseen) != nil {
			continue
		}
		k.advanced()
		pause(ctx, listInterval) // so that pods that come one by one share a look
	}
}
