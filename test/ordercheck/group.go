package ordercheck

import (
	"regexp"
	"strconv"
	"strings"
)

// Group points at a group of a sequence.
type Group struct {
	// Index counts from 0.
	Index int `json:"index"`
	// Name is the group's name, or "Group <n>" with n from 1.
	Name string `json:"name"`
	// DependsOn are the names of the groups that it depends on, if it says so itself; only in timelines.
	DependsOn []string `json:"dependsOn,omitzero"`
	// label is how a sentence calls it.
	label string
}

// after names the groups that a group depends on.
func (g Group) after() string {
	switch {
	case g.DependsOn == nil && g.Index > 0:
		return "all before"
	case len(g.DependsOn) == 0:
		return "-"
	}
	names := make([]string, len(g.DependsOn))
	for i, name := range g.DependsOn {
		names[i] = shownName(name)
	}
	return strings.Join(names, ", ")
}

var plainName = regexp.MustCompile(`^[\pL\pM\pN]+([-_./&+ ][\pL\pM\pN]+)*$`)

// shownName quotes a name that may be taken for something else.
func shownName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}
