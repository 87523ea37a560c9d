package inventory

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/internal/intern"
)

// maxShared and maxStrings bound how many values of each kind are remembered.
const (
	maxShared  = 512
	maxStrings = 1024
)

// Interner lets the pods that are kept share what many have in common. It is not safe for concurrent use.
type Interner struct {
	commons intern.Table[*common]
	labels  intern.Table[*labelSet]
	names   intern.Table[*[]string] // of labels, and the types of conditions
	strings intern.Table[string]    // values of labels, and UIDs of owners
	last    Pod                     // the common facts and the labels of the pod before: those of the next one of a workload are the same
}

// Intern makes the facts of a pod take as little memory as they can, before they are kept. before are the facts of the same pod
// that they replace, or NoPod.
func (s *Interner) Intern(p, before *Pod) {
	switch c := p.common; {
	case before.common.equal(c):
		p.common = before.common
	case s.last.common != nil && s.last.common.equal(c):
		p.common = s.last.common
	default:
		p.common = s.commons.Get(c.key(), maxShared, func() *common { return c })
	}
	s.internConditions(p)
	p.OwnerUID = types.UID(s.share(string(p.OwnerUID), string(before.OwnerUID)))
	switch {
	case p.Labels.Len() == 0:
		p.Labels = Labels{}
	case before.Labels.areKept() && before.Labels.Equal(&p.Labels):
		p.Labels = before.Labels
	case s.last.Labels.areKept() && s.last.Labels.Equal(&p.Labels):
		p.Labels = s.last.Labels
	case !p.Labels.areKept():
		p.Labels = Labels{s.set(p.Labels.set.object, p.Name)}
	}
	s.last.common, s.last.Labels = p.common, p.Labels
}

// share returns a string that others share. before is what it takes the place of.
func (s *Interner) share(value, before string) string {
	if value == before {
		return before
	}
	return s.strings.Get(value, maxStrings, func() string { return value })
}

// internConditions makes the pod share the types of its conditions.
func (s *Interner) internConditions(p *Pod) {
	if p.conditions != nil {
		types := p.conditions.types
		p.conditions.types = s.names.Get(strings.Join(*types, "\x00"), maxShared, func() *[]string { return types })
	}
}

func (s *Interner) set(object map[string]string, pod string) *labelSet {
	sorted := slices.Sorted(maps.Keys(object))
	var key strings.Builder
	for _, name := range sorted {
		key.WriteString(name)
		key.WriteByte(0)
	}
	names := s.names.Get(key.String(), maxShared, func() *[]string { return &sorted })
	for _, name := range *names {
		key.WriteString(object[name])
		key.WriteByte(0)
	}
	return s.labels.Get(key.String(), maxShared, func() *labelSet {
		set := &labelSet{names: names, values: make([]string, len(*names))}
		for i, name := range *names {
			set.values[i] = s.share(object[name], pod) // the pods of a StatefulSet have their names
		}
		return set
	})
}
