package readiness

import "example.com/podsequence/pkg/podgroups"

// PodGroupCount counts the pods of one PodGroup in one group.
type PodGroupCount struct{ Members, Done int }

// PodGroups counts the pods of each PodGroup in one group.
type PodGroups map[podgroups.Reference]PodGroupCount

// Add counts a member, or takes it out if sign is -1.
func (g PodGroups) Add(reference podgroups.Reference, done bool, sign int) {
	count := g[reference]
	count.Members += sign
	if done {
		count.Done += sign
	}
	if g[reference] = count; count.Members == 0 {
		delete(g, reference)
	}
}

// Need returns how many pods the PodGroups ask for, and whether one of them has too few that are done. minimum says how many
// a PodGroup asks for, and completed whether a Job of it is complete: then nobody asks how many of its pods are left.
func (g PodGroups) Need(minimum func(podgroups.Reference) int, completed func(podgroups.Reference) bool) (sum int, short bool) {
	for reference, count := range g {
		asks := minimum(reference)
		sum += asks
		short = short || (count.Done < asks && !completed(reference))
	}
	return sum, short
}
