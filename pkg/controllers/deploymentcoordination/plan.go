package deploymentcoordination

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	v1 "example.com/podsequence/apis/apps/v1"
)

// plan is which coordination of a namespace matches which Deployment, and which of them overlap. It depends on selectors
// and labels only, so it is made once for each change of these, and not for each event.
//
// Coordinations and Deployments are those of the surroundings, by their place there.
type plan struct {
	subjects []subject
	targets  []target

	selectors []labels.Selector // nil if it cannot be read, or does not count
	problems  []error           // why it cannot be read
	// matching are the coordinations that match each Deployment, sorted by name.
	matching [][]int
	// members are the Deployments that each coordination matches, sorted by name.
	members [][]int
	// groups are the coordinations that overlap with each one, itself included, sorted by name. Those that overlap by way
	// of others do, too: if each of two rolled out a Deployment, a third that matches both would see two at once.
	groups [][]int
}

// subject is what a plan depends on of a coordination.
type subject struct {
	uid        types.UID
	generation int64
	counts     bool
}

// target is what a plan depends on of a Deployment.
type target struct {
	uid    types.UID
	labels map[string]string
}

// counting says of each coordination whether it counts: one that is being deleted does not, and if there are more than the
// limit the newest do not. One whose Deployment is active always counts, so that its turn is not forgotten.
func counting(coordinations []v1.DeploymentCoordination, limit int) []bool {
	counts := make([]bool, len(coordinations))
	var all []int
	for i := range coordinations {
		if coordinations[i].DeletionTimestamp == nil {
			all = append(all, i)
		}
	}
	if len(all) > limit {
		slices.SortFunc(all, func(a, b int) int {
			one, other := &coordinations[a], &coordinations[b]
			return cmp.Or(
				compareBools(one.Status.ActiveDeployment != "", other.Status.ActiveDeployment != ""),
				one.CreationTimestamp.Compare(other.CreationTimestamp.Time), cmp.Compare(one.Name, other.Name),
			)
		})
		for limit < len(all) && coordinations[all[limit]].Status.ActiveDeployment != "" {
			limit++
		}
		all = all[:limit]
	}
	for _, i := range all {
		counts[i] = true
	}
	return counts
}

// compareBools puts true first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// planFor returns the plan of the surroundings: the one before if it still holds.
func planFor(before *plan, around surroundings, limit int) *plan {
	p := &plan{}
	for i, counts := range counting(around.coordinations, limit) {
		c := &around.coordinations[i]
		p.subjects = append(p.subjects, subject{c.UID, c.Generation, counts})
	}
	for i := range around.deployments {
		p.targets = append(p.targets, target{around.deployments[i].UID, around.deployments[i].Labels})
	}
	sameTarget := func(a, b target) bool { return a.uid == b.uid && maps.Equal(a.labels, b.labels) }
	if before != nil && slices.Equal(before.subjects, p.subjects) && slices.EqualFunc(before.targets, p.targets, sameTarget) {
		return before
	}
	p.read(before, around.coordinations)
	p.match(around.deployments)
	p.group()
	return p
}

// pairs is what it takes to look at everything, as turns count it.
func (p *plan) pairs() int {
	pairs := len(p.subjects)
	for _, members := range p.members {
		pairs += len(members)
	}
	return pairs
}

// read parses the selectors that the plan before does not have.
func (p *plan) read(before *plan, coordinations []v1.DeploymentCoordination) {
	known := map[subject]int{}
	if before != nil {
		for i, s := range before.subjects {
			known[s] = i
		}
	}
	p.selectors, p.problems = make([]labels.Selector, len(p.subjects)), make([]error, len(p.subjects))
	for i, s := range p.subjects {
		if !s.counts {
			continue
		}
		if j, ok := known[s]; ok {
			p.selectors[i], p.problems[i] = before.selectors[j], before.problems[j]
			continue
		}
		p.selectors[i], p.problems[i] = asSelector(coordinations[i].Spec.LabelSelector)
	}
}

func (p *plan) match(deployments []appsv1.Deployment) {
	p.matching, p.members = make([][]int, len(p.targets)), make([][]int, len(p.subjects))
	for d := range deployments {
		set := labels.Set(deployments[d].Labels)
		for c, selector := range p.selectors {
			if selector != nil && selector.Matches(set) {
				p.matching[d] = append(p.matching[d], c)
				p.members[c] = append(p.members[c], d)
			}
		}
	}
}

// group finds out which coordinations overlap.
func (p *plan) group() {
	parent := make([]int, len(p.subjects))
	for c := range parent {
		parent[c] = c
	}
	root := func(c int) int {
		for parent[c] != c {
			parent[c] = parent[parent[c]]
			c = parent[c]
		}
		return c
	}
	for _, matching := range p.matching {
		for _, c := range matching {
			parent[root(c)] = root(matching[0])
		}
	}
	byRoot := map[int][]int{}
	for c := range parent {
		byRoot[root(c)] = append(byRoot[root(c)], c)
	}
	p.groups = make([][]int, len(p.subjects))
	for c := range parent {
		p.groups[c] = byRoot[root(c)]
	}
}
