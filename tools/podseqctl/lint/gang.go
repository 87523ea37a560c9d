package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/podsequence/internal/podgroups"
)

// gangWaits adds to before, which says what each template waits for and why, what it waits for because of the other pods of its
// PodGroup: these are scheduled together, so each waits for what any of them waits for.
func (l *linter) gangWaits(before map[*template]map[*template]string) {
	direct := map[*template][]*template{}
	for t := range before {
		direct[t] = sorted(before[t])
	}
	gangs := l.gangs()
	references := slices.SortedFunc(maps.Keys(gangs), func(a, b podgroups.Reference) int { return strings.Compare(a.String(), b.String()) })
	for _, reference := range references {
		gang := gangs[reference]
		for _, t := range gang {
			for _, other := range gang {
				for _, awaited := range direct[other] {
					if other == t || l.isEnough(reference, gang, other) {
						continue
					}
					if before[t] == nil {
						before[t] = map[*template]string{}
					}
					if before[t][awaited] == "" {
						before[t][awaited] = fmt.Sprintf("PodGroup %s, with %s, by %s", reference.Name, other, before[other][awaited])
					}
				}
			}
		}
	}
}

// gangs returns the PodGroups of which several templates make pods.
func (l *linter) gangs() map[podgroups.Reference][]*template {
	gangs := map[podgroups.Reference][]*template{}
	for _, t := range l.templates {
		if len(t.pods) == 0 {
			continue
		}
		for _, reference := range podgroups.Of(t.pods[0]) {
			gangs[reference] = append(gangs[reference], t)
		}
	}
	for reference, gang := range gangs {
		if len(gang) < 2 {
			delete(gangs, reference)
		}
	}
	return gangs
}

// isEnough reports whether a PodGroup, of Coscheduling, is known to need none of the pods of one template.
func (l *linter) isEnough(reference podgroups.Reference, gang []*template, without *template) bool {
	minimum, known := l.PodGroupMinimum(reference)
	if !known || reference.Kind == podgroups.Native {
		return false
	}
	pods := 0
	for _, t := range gang {
		if t != without {
			pods += l.podsOf(t)
		}
	}
	return pods >= minimum
}

// podsOf returns how many pods a template makes, as far as its groups expect any.
func (l *linter) podsOf(t *template) int {
	for _, place := range slices.Concat(t.places...) {
		for _, part := range l.Parts(l.Snapshot.Sequence(place.Sequence), place.Group) {
			if part.Kind == t.kind && part.Namespace == t.object.GetNamespace() && part.Name == t.object.GetName() {
				return part.Expected
			}
		}
	}
	return len(t.pods)
}

// gangOfOne says that a template waits for itself: it is scheduled together with pods that wait for it.
func (l *linter) gangOfOne(t *template, why string) {
	l.addTo(t, Error, "GangSplit", "it waits for itself (%s): pods of a PodGroup are scheduled together, so %s; "+
		"put all pods of the PodGroup into one group of one sequence", why, neverStart)
}
