package sequence

import (
	"slices"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Completion is final: what was complete when its group was passed takes nothing back when it is cleaned up.

// recallCompleted takes from status which groups were complete when they were passed. Earlier releases said only that they were passed, and
// that they had been satisfied.
func (o *oracle) recallCompleted(v *view) {
	m := v.memory
	for i, g := range v.Spec.PodGroups {
		at := o.recordIndex(v, i)
		if at < 0 || requirementOf(g) != v1alpha1.RequireComplete || v.Spec.Scope == v1alpha1.ScopeNode || m.reopened.Has(v.definitions[i]) {
			continue
		}
		record := v.Status.Groups[at]
		said := v.Status.Memory != nil && at < len(v.Status.Memory.Groups) && v.Status.Memory.Groups[at].Completed
		if said || record.PassedAt != nil && record.FirstSatisfiedAt != nil {
			m.completed.Insert(v.definitions[i])
		}
	}
	for definition := range m.completed.Union(m.reopened) {
		if !slices.Contains(v.definitions, definition) {
			m.completed.Delete(definition)
			m.reopened.Delete(definition)
		}
	}
}

// noteCompleted notes what becomes of group i.
func (o *oracle) noteCompleted(v *view, c *course, i int, passed, forGood bool) {
	g, definition := v.Spec.PodGroups[i], v.definitions[i]
	if requirementOf(g) != v1alpha1.RequireComplete || c.node != "" {
		return
	}
	satisfied := v.memory.satisfied[place{"", definition}].satisfied
	once := v.memory.once.Has(place{"", definition})
	switch {
	case passed && (satisfied || forGood && (once || g.OnTimeout != v1alpha1.TimeoutContinue)):
		v.memory.completed.Insert(definition)
		v.memory.reopened.Delete(definition)
	case !forGood && !satisfied && v.memory.completed.Has(definition) && c.groups[i].unfinished:
		v.memory.completed.Delete(definition)
		v.memory.reopened.Insert(definition)
	}
}

// finish is what group i has if it is one that was complete and of which a part was cleaned up.
func (o *oracle) finish(v *view, i int, c groupCount) groupCount {
	if c.satisfied || !v.memory.completed.Has(v.definitions[i]) || c.unfinished {
		return c
	}
	ready := c.ready
	if g := v.Spec.PodGroups[i]; g.MinAvailable != nil {
		if g.MinAvailable.StrVal == "" {
			ready = c.sure
		}
		c.enough = ready
	}
	c.finished = true
	c.satisfied, c.expected, c.ready, c.sure = true, ready, ready, ready
	return c
}
