package ordercheck

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// A group waits for the groups that it depends on, and for all that those wait for. One that says nothing of it depends on all
// groups that are listed before it.

// order works out for each group which others are ahead of it.
func (f *sequenceFacts) order() {
	for i := range f.groups {
		g := &f.groups[i]
		ahead := sets.New[int]()
		for before := range i {
			if g.dependsOn == nil || f.groups[before].isCalledOneOf(g.dependsOn) {
				ahead.Insert(before).Insert(f.groups[before].ahead...)
			}
		}
		for _, name := range g.dependsOn {
			if !slices.ContainsFunc(f.groups[:i], func(other groupFacts) bool { return other.isCalledOneOf([]string{name}) }) {
				f.unclear = fmt.Sprintf("group %s depends on %q, which no group before it is called", g.label, name)
			}
		}
		g.ahead = sets.List(ahead)
	}
}

// isCalledOneOf reports whether the spec gives the group one of these names. The name that a group has by default is none.
func (g groupFacts) isCalledOneOf(names []string) bool {
	return !g.unnamed && slices.Contains(names, g.name)
}

// define works out the definitions: that of a group differs from another if that asks for anything else, or if anything ahead
// of it does.
func (f *sequenceFacts) define() {
	for _, group := range f.groups {
		text := fmt.Appendf(nil, "%s %t %s", f.target, f.perNode, group.asks())
		for _, g := range group.ahead {
			text = append(text, f.definitions[g]...)
		}
		definition := sha256.Sum256(text)
		f.definitions = append(f.definitions, string(definition[:]))
	}
}

// matches returns, for each group, the index of the one that another spec defines alike, or -1. Changing namespace or scope
// changes all of them.
func (f *sequenceFacts) matches(other *sequenceFacts) []int {
	matches := make([]int, len(f.groups))
	taken := sets.New[int]()
	for g, definition := range f.definitions {
		matches[g] = -1
		for o, theirs := range other.definitions {
			if theirs == definition && !taken.Has(o) {
				matches[g] = o
				taken.Insert(o)
				break
			}
		}
	}
	return matches
}

// isGraph reports whether some group says itself what it depends on.
func (f *sequenceFacts) isGraph() bool {
	return slices.ContainsFunc(f.groups, func(g groupFacts) bool { return g.dependsOn != nil })
}
