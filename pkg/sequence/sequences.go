package sequence

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// problems are those of the spec, after the refusal of the target namespace.
func (s *sequence) problems() []spec.Problem {
	if s.refused() {
		return slices.Insert(slices.Clone(s.Problems), 0, spec.Problem{Reason: v1alpha1.ReasonNamespaceNotAllowed, Message: s.refusal})
	}
	return slices.Clone(s.Problems)
}

// place is the pod's membership in the sequence, and whether it has one. groups are those of its namespace.
func (s *sequence) place(p *pod, groups spec.GroupSet) (membership, bool) {
	if p.Terminating {
		return membership{}, false
	}
	group, ok := s.GroupOf(p.Namespace, p.Name, &p.Labels, p.IsUnordered(), groups)
	return membership{sequence: s, group: group}, ok
}

// nameOf names a pod in reports: with its namespace where that may be any.
func (s *sequence) nameOf(p *pod) string {
	if s.Cluster {
		return p.Namespace + "/" + p.Name
	}
	return p.Name
}

// record is what status says of a group that is still defined in the same way, and recordIndex the index that it had there.
func (s *sequence) record(i int) v1alpha1.GroupStatus { return s.Record(&s.object.Status, i) }

func (s *sequence) recordIndex(i int) int { return s.RecordIndex(&s.object.Status, i) }

// refusal says why the target namespace of a sequence does not allow it; empty if it does.
func (c *consents) refusal(s *spec.Sequence) string {
	list, exists := c.facts[s.Namespace]
	return s.Refusal(list.text, exists)
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

// A sequence reaches a namespace if some of its groups may have members there. A PodSequence reaches its target namespace, with
// all its groups. A ClusterPodSequence reaches the namespaces that its groups name, whether they exist or not, and those whose
// labels its groups select, as far as the engine knows of them. What happens in a namespace that a sequence does not reach costs
// that sequence nothing.

// groupsOf returns the groups of the sequence that may have members, by namespace, as far as the engine knows of namespaces.
func (c *consents) groupsOf(s *sequence) map[string]spec.GroupSet {
	all := map[string]spec.GroupSet{}
	add := func(name string) {
		if groups := c.groupsIn(s, name); groups != 0 {
			all[name] = groups
		}
	}
	for name := range s.NamedNamespaces() {
		add(name)
	}
	if s.SelectsNamespaces() {
		for name := range c.facts {
			add(name)
		}
	}
	return all
}

// groupsIn returns the groups of the sequence that may have members in a namespace.
func (c *consents) groupsIn(s *sequence, name string) spec.GroupSet {
	facts, exists := c.facts[name]
	return s.GroupsIn(name, facts.labels, exists)
}

// where names a group of the sequence in messages, wherever it is looked at.
func (s *sequence) where(i int) report.Where {
	return report.Where{Index: i, Groups: len(s.groups), Title: s.groups[i].Title}
}

// setSinceVersion notes since when the sequence counts, which may be since before an edit, and when it became what it is.
func (s *sequence) setSinceVersion(old *sequence, tx *transaction) {
	if s.changedAs = tx.version; s.changedAs == "" && old != nil {
		s.changedAs = old.changedAs
	}
	if s.sinceVersion = tx.version; old != nil && old.UID == s.UID && old.PerNode == s.PerNode && !old.refused() {
		s.sinceVersion = old.sinceVersion
	}
}

// resumedAt is when status says that a suspension was lifted; zero if it does not, or if there can have been none.
func (s *sequence) resumedAt() time.Time {
	if s.Suspended {
		return time.Time{}
	}
	c := meta.FindStatusCondition(s.object.Status.Conditions, v1alpha1.ConditionSuspended)
	if c == nil || c.Status != metav1.ConditionFalse {
		return time.Time{}
	}
	if s.Generation < 2 && !c.LastTransitionTime.After(s.object.CreationTimestamp.Time) {
		return time.Time{} // see Report.Status: it never was suspended
	}
	return c.LastTransitionTime.Time
}

// requirement is what the group asks of each of its members.
func (g *group) requirement() inventory.Requirement { return readiness.RequirementOf(g.Group) }
