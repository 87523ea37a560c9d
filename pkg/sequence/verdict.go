package sequence

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/pkg/sequence/hold"
)

// The scheduler asks about pods under the lock of its queue, and in the one scheduling cycle that all its pods share. So it
// must not wait for an event, however much work that is. The engine publishes its verdict on every pod that has no node, and
// which sequences a namespace has. Who reads that waits for no event.
//
// An event publishes what it changed before it returns its Changes, and only when all groups stand where they will stand. A
// reader sees what held before the event or after it, pod by pod. To see the former is to have asked before the event.

// Verdict is what the scheduler may do with a pod now. The zero value holds nothing.
type Verdict struct {
	// Held reports whether the pod must wait. Engine.Decide says for what.
	Held bool
	// FirstSeen is as of Engine.FirstSeen.
	FirstSeen FirstSeen

	memberships []membership
}

// Proof is the value of the annotation v1alpha1.ReleasedAnnotation for the pod. It is empty for a pod that no PodSequence
// has, and for one that must wait.
func (v Verdict) Proof(pod *corev1.Pod) string {
	if v.Held {
		return ""
	}
	return proofOf(pod.UID, v.memberships, true)
}

// Verdict answers for a pod as Decide does, without waiting for anybody. A pod that the engine does not know, or knows with
// other labels or tolerations, is matched with the sequences of its namespace if they are few. If it must wait, or may have to, the engine
// remembers to report its release when it comes to know it.
func (e *Engine) Verdict(object *corev1.Pod) Verdict {
	asks := e.published.asksNamespaces(object.Namespace)
	seen, held, memberships := e.verdict(object)
	v := Verdict{Held: held, FirstSeen: e.published.firstSeenIn(object.Namespace, seen.firstSeenAs(object)), memberships: memberships}
	// Before and after: it was either when the rest was read.
	v.FirstSeen.AsksNamespaces = asks || v.FirstSeen.AsksNamespaces
	return v
}

func (e *Engine) verdict(object *corev1.Pod) (seen *publishedPod, held bool, memberships []membership) {
	seen, known := e.published.find(object)
	if !known {
		if memberships, released := e.published.matchUnseen(object, &e.settings); released {
			return seen, false, memberships
		}
		e.ReportWhenSeen(object)
		// Once more: an event that brought the pod before the note does not know of the note.
		if seen, known = e.published.find(object); !known {
			return seen, true, nil
		}
	}
	return seen, seen.held.Load(), seen.memberships()
}

// Why says in words what a held pod waits for, as Decide does. It is empty if an event is under way: it does not wait to find
// out.
func (e *Engine) Why(object *corev1.Pod) string {
	if !e.mu.TryRLock() {
		return ""
	}
	defer e.mu.RUnlock()
	ns := e.namespaces[object.Namespace]
	if ns == nil || ns.pods[object.Name] == nil {
		return "" // to match it with all sequences may take long
	}
	return e.decision(ns.pods[object.Name]).Message()
}

// FirstSeen is when the engine came to know the pod, without gates if the object has none. If it does not know that pod, or knows
// it on a node, it is the version of the object.
func (e *Engine) FirstSeen(object *corev1.Pod) FirstSeen {
	seen, _ := e.published.find(object)
	return e.published.firstSeenIn(object.Namespace, seen.firstSeenAs(object))
}

// releasesUnseen reports whether the sequence releases such a pod, whatever change from before the pod may not be known yet.
func (set *settings) releasesUnseen(view *pod, m membership) bool {
	facts := set.holdFacts(view, m)
	facts.Released = m.sequence.publishedOn("").Released.Has(m.group)
	return facts.Rule() == hold.Free && !facts.IsRevocable()
}

// publish publishes what the engine says of the pod, and returns it.
func (k *knowledge) publish(p *pod) verdict {
	k.noteDryRuns(p)
	if p.Bound() {
		k.published.withdraw(p)
		return verdict{}
	}
	is, old := k.judge(p), p.published
	if old != nil && old.Pod == p.Pod && old.places == p.places && old.nodeNeeds == is.nodeNeeds {
		old.opened, old.reason = is.opened, is.reason
		old.noteRelease(old.held.Swap(is.held), is.held, k.now)
		return is
	}
	p.published = &publishedPod{
		Pod: p.Pod, places: p.places, firstSeen: p.firstSeen, nodeNeeds: is.nodeNeeds, opened: is.opened, reason: is.reason,
	}
	p.published.held.Store(is.held)
	if old != nil && old.UID == p.UID {
		p.published.releasedAt.Store(old.releasedAt.Load())
		p.published.noteRelease(old.held.Load(), is.held, k.now)
	}
	k.published.pods.store(p.key(), p.published)
	return is
}

// MaxMatchCost bounds what is done for a pod that the engine does not know, in labels that are compared: about 0.1 ms.
const MaxMatchCost = 2000
