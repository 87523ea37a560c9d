package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/pkg/intern"
)

// maxShared bounds how many values of each kind are remembered.
const maxShared = 512

// Interner lets the pods that are kept share what many have in common. It is not safe for concurrent use.
type Interner struct {
	texts  intern.Table[string]
	labels intern.Table[*labelSet]
	names  intern.Table[*[]string] // of labels
	extras intern.Table[*extra]
}

// Intern makes the facts of a pod take as little memory as they can, before they are kept. before are the facts of the same pod
// that they replace; they may be the zero value.
func (s *Interner) Intern(p, before *Pod) {
	p.Namespace, p.SchedulerName = s.text(p.Namespace), s.text(p.SchedulerName)
	for i := range p.attained {
		p.attained[i].condition = s.text(p.attained[i].condition)
	}
	if p.extra != nil {
		few := p.extra
		p.extra = s.extras.Get(few.key(), maxShared, func() *extra { return few })
	}
	switch {
	case p.Labels.Len() == 0:
		p.Labels = Labels{}
	case before.Labels.kept != nil && before.Labels.Equal(&p.Labels):
		p.Labels = before.Labels
	case p.Labels.kept == nil:
		p.Labels = Labels{kept: s.set(p.Labels.object, p.Name)}
	}
}

func (s *Interner) text(text string) string {
	return s.texts.Get(text, maxShared, func() string { return text })
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
		set := &labelSet{names, make([]string, len(*names))}
		for i, name := range *names {
			if set.values[i] = object[name]; set.values[i] == pod {
				set.values[i] = pod // as the pods of a StatefulSet have it
			}
		}
		return set
	})
}

// key is the same for pods that have the same.
func (e *extra) key() string {
	var key strings.Builder
	for _, gate := range e.gates {
		key.WriteString(gate)
		key.WriteByte(0)
	}
	for _, group := range e.podGroups {
		key.WriteByte(1)
		key.WriteString(group.String())
	}
	if e.wants != nil {
		spec := corev1.PodSpec{NodeSelector: e.wants.NodeSelector, Affinity: e.wants.Affinity, Tolerations: e.wants.Tolerations}
		encoded, err := spec.Marshal() // a map in the order of its keys
		if err != nil {
			panic(fmt.Sprintf("marshalling a pod's own fields cannot fail: %v", err))
		}
		key.WriteByte(2)
		key.Write(encoded)
		key.WriteString(e.wants.Requests.Key())
		key.WriteString(strconv.Itoa(int(e.wants.Priority)))
	}
	return key.String()
}
