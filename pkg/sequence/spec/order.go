package spec

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// order says of each group which groups come before it.
type order []GroupSet

// orderOf works out which groups come before which. unreadable are groups that come before all groups after them, because it
// is not known what they say.
func (s *Sequence) orderOf(groups []v1alpha1.PodGroup, unreadable []Unreadable) order {
	predecessors := make(order, len(groups))
	for i := range groups {
		predecessors[i] = s.predecessorsOf(i, groups, predecessors)
		for _, part := range unreadable {
			if part.Group < i {
				predecessors[i] |= predecessors[part.Group]
				predecessors[i].Add(part.Group)
			}
		}
	}
	return predecessors
}

// predecessorsOf returns the groups that come before one, if those before these are known.
func (s *Sequence) predecessorsOf(i int, groups []v1alpha1.PodGroup, before order) GroupSet {
	if groups[i].DependsOn == nil {
		return Before(i)
	}
	predecessors := GroupSet(0)
	for _, name := range groups[i].DependsOn {
		known := false
		for j := range i {
			if groups[j].Name == name {
				known = true
				predecessors |= before[j]
				predecessors.Add(j)
			}
		}
		if !known {
			s.problem(v1alpha1.ReasonInvalidSpec, "spec.podGroups[%d].dependsOn: no group listed before has the name %q: the group waits for all "+
				"groups listed before it; correct the name", i, name)
			return Before(i)
		}
	}
	return predecessors
}

// direct returns those of a set of groups after which no other group of the set comes.
func (o order) direct(set GroupSet) GroupSet {
	direct := set
	for i := range set.All() {
		direct &^= o[i]
	}
	return direct
}

// hashes returns what stands for the definition of each group and of those before it. That of a list is a chain. Records of
// them are stored in status: the same definitions must always have the same hashes.
func (o order) hashes(stored Stored, namespace string) [][sha256.Size]byte {
	hashes := make([][sha256.Size]byte, len(o))
	for i := range hashes {
		hashes[i] = chain(o.base(i, hashes, namespace), define(stored, i))
		for slices.Contains(hashes[:i], hashes[i]) { // the same group once more, after the same groups
			hashes[i] = sha256.Sum256(hashes[i][:])
		}
	}
	return hashes
}

// base returns what stands for the groups before one. In which order these are listed makes no difference.
func (o order) base(i int, hashes [][sha256.Size]byte, namespace string) [sha256.Size]byte {
	var before [][]byte
	for j := range o.direct(o[i]).All() {
		before = append(before, hashes[j][:])
	}
	switch len(before) {
	case 0:
		return sha256.Sum256([]byte(namespace))
	case 1:
		return [sha256.Size]byte(before[0])
	}
	slices.SortFunc(before, bytes.Compare)
	return sha256.Sum256(bytes.Join(before, nil))
}

// compileSkips works out which groups are waited for.
func (s *Sequence) compileSkips(groups []v1alpha1.PodGroup) {
	awaited := make(order, len(s.Groups))
	for i, g := range s.Groups {
		skip := i < len(groups) && groups[i].Skip || slices.Contains(s.Override.Skip, g.Title)
		if g.Skip = skip && !g.Unreadable; g.Skip {
			s.Skipped.Add(i)
		}
		awaited[i] = g.Predecessors &^ s.Skipped
	}
	s.IsList = true
	for i, g := range s.Groups {
		g.Awaited = awaited[i]
		g.Direct = awaited.direct(g.Awaited)
		s.IsList = s.IsList && g.Awaited == Before(i)
	}
}
