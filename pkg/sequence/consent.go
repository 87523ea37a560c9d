package sequence

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/spec"
)

// A PodSequence holds the pods of another namespace only while that namespace allows it. Without consent the sequence is
// known, for its report, but it has no members: it holds nothing, releases nothing and takes nothing for ready. Consent that
// comes later counts as if the sequence had been made then, except that passes which status records, and the proof on pods,
// still hold. Consent that is withdrawn counts as if the sequence was gone.

// consents knows which namespaces there are, whom each lets hold its pods, and its labels.
type consents struct {
	// facts are of all namespaces that there are.
	facts map[string]namespaceFacts
	// uids are those of the namespaces that there are.
	uids map[string]types.UID
	// foreign are the sequences that point to a namespace from another one, abroad are those of a namespace that point to another
	// one, and refused counts those that point to a namespace which does not allow them.
	foreign, abroad map[string]map[*sequence]struct{}
	refused         map[string]int
}

// namespaceFacts are the annotation of a namespace that lists whom it allows, empty for one without, and its labels, in a version
// of the namespace.
type namespaceFacts struct {
	text    string
	labels  map[string]string
	version string
	// going reports that the namespace is being deleted, and with it, one after the other, all that is in it.
	going bool
}

func newConsents() consents {
	return consents{
		facts: map[string]namespaceFacts{}, uids: map[string]types.UID{},
		foreign: map[string]map[*sequence]struct{}{}, abroad: map[string]map[*sequence]struct{}{}, refused: map[string]int{},
	}
}

// checkConsent asks the target namespace of a new sequence whether it allows it. old is what the sequence takes the place of; nil
// if there is none.
func (c *consents) checkConsent(s, old *sequence, now time.Time) {
	s.refusal = c.refusal(s.Sequence)
	before, known := refusedByStatus(s), old != nil && old.UID == s.UID
	if known {
		before, s.allowedAt = old.refused(), old.allowedAt
	}
	if before && !s.refused() {
		s.allowedAt = now.Truncate(time.Second)
	}
	s.created = latest(s.created, s.allowedAt)
}

// refusedByStatus reports whether the sequence was not allowed when its status was last written.
func refusedByStatus(s *sequence) bool {
	c := meta.FindStatusCondition(s.object.Status.Conditions, v1alpha1.ConditionDegraded)
	return c != nil && c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonNamespaceNotAllowed
}

// refused reports whether the sequence points to a namespace that does not allow it.
func (s *sequence) refused() bool { return s.refusal != "" }

// register and unregister keep count of a sequence that counts, or does not any more.
func (c *consents) register(s *sequence) {
	if s.IsForeign() {
		insert(c.foreign, s.Namespace, s)
		insert(c.abroad, s.Key.Namespace, s)
	}
	if s.refused() {
		c.refused[s.Namespace]++
	}
}

func (c *consents) unregister(s *sequence) {
	if s.IsForeign() {
		remove(c.foreign, s.Namespace, s)
		remove(c.abroad, s.Key.Namespace, s)
	}
	if s.refused() {
		if c.refused[s.Namespace]--; c.refused[s.Namespace] == 0 {
			delete(c.refused, s.Namespace)
		}
	}
}

// refusal says why the target namespace of a sequence does not allow it; empty if it does.
func (c *consents) refusal(s *spec.Sequence) string {
	list, exists := c.facts[s.Namespace]
	return s.Refusal(list.text, exists, c.uids[s.Key.Namespace])
}
