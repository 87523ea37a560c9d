package confirmation

import "example.com/podsequence/pkg/sequence/spec"

// ManyNamespaces is from how many namespaces on a question is about all namespaces instead of about each of them.
const ManyNamespaces = 8

// KindsOf returns the kinds that matter to whether a group is satisfied.
func KindsOf(s *spec.Sequence, group int) Kinds {
	switch {
	case s.Groups[group].Selector == nil:
		return OfPods
	case s.PerNode:
		return OfDaemonSets
	}
	return OfWorkloads
}

// SubjectsOf returns what matters to whether the members of some groups are ready. namespaces returns those where a group may have members.
func SubjectsOf(s *spec.Sequence, groups spec.GroupSet, namespaces func(group int) map[string]struct{}) []Subject {
	all, selects, widest := map[string]struct{}{}, false, OfPods
	selectsBefore, members := false, false
	for i, g := range s.Groups[:min(len(s.Groups), spec.MaxGroups)] {
		// A pod is a member of the first group that selects it, so labels of namespaces also decide about the groups listed later.
		selectsBefore = selectsBefore || g.SelectsNamespaces()
		if !groups.Has(i) || g.WithoutMembers {
			continue
		}
		members = true
		widest, selects = max(widest, KindsOf(s, i)), selects || selectsBefore
		for name := range namespaces(i) {
			if len(all) > ManyNamespaces {
				break
			}
			all[name] = struct{}{}
		}
	}
	var subjects []Subject
	if len(all) > ManyNamespaces {
		subjects = append(subjects, Subject{Kinds: widest})
	} else {
		for name := range all {
			subjects = append(subjects, Subject{Namespace: name, Kinds: widest})
		}
	}
	if selects || (s.Cluster && members) { // what goes with its namespace satisfies nobody
		subjects = append(subjects, Subject{Kinds: OfNamespaces})
	}
	return subjects
}
