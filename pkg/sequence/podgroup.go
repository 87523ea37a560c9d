package sequence

import (
	"slices"

	"example.com/podsequence/pkg/podgroups"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// splitPodGroups reports the PodGroups that have pods in several groups, as these pods say themselves. The scheduler of Kubernetes places
// all pods of a PodGroup together, and Coscheduling as many as the PodGroup asks for, which is not looked at. The pods of later groups are
// held until the earlier groups are ready, so none of them would start.
func (s *sequence) splitPodGroups() (spec.Problem, bool) {
	groups := map[podgroups.Reference]spec.GroupSet{}
	for _, d := range s.domains {
		for _, state := range d.groupStates {
			for p := range state.members {
				for _, reference := range p.PodGroups() {
					in := groups[reference]
					in.Add(state.group)
					groups[reference] = in
				}
			}
		}
	}
	var split []string
	for reference, in := range groups {
		if len(slices.Collect(in.All())) > 1 {
			split = append(split, "PodGroup "+reference.Name)
		}
	}
	return report.SplitPodGroups(split), len(split) > 0
}
