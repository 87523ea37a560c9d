package deploymentcoordination

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	v1 "example.com/podsequence/apis/apps/v1"
)

// claim is a coordination's say over the Deployments of its namespace.
type claim struct {
	coordination *v1.DeploymentCoordination
	selector     labels.Selector
}

// claims are those of all coordinations but such as are being deleted or cannot be read, sorted by name.
func claims(coordinations []v1.DeploymentCoordination) []claim {
	var all []claim
	for i := range coordinations {
		c := &coordinations[i]
		selector, err := asSelector(&c.Spec.LabelSelector)
		if err == nil && c.DeletionTimestamp == nil {
			all = append(all, claim{c, selector})
		}
	}
	slices.SortFunc(all, func(a, b claim) int {
		if a.coordination.Name < b.coordination.Name {
			return -1
		}
		return 1
	})
	return all
}

func (c claim) matches(d *appsv1.Deployment) bool { return c.selector.Matches(labels.Set(d.Labels)) }

// handlerOf names the coordination that pauses and unpauses the Deployment: of those that match it the one for which it is
// active, and else the first by name. It is empty if none matches.
func handlerOf(d *appsv1.Deployment, all []claim) string {
	name := types.NamespacedName{Namespace: d.Namespace, Name: d.Name}.String()
	first := ""
	for _, c := range all {
		if !c.matches(d) {
			continue
		}
		if c.coordination.Status.ActiveDeployment == name {
			return c.coordination.Name
		}
		if first == "" {
			first = c.coordination.Name
		}
	}
	return first
}

// overlapping names the coordinations that match a Deployment which the given one matches too, or which one of these
// matches, and so on; without the given one. If each of two had a Deployment roll out, a third that
// matches both would see two at once.
func overlapping(name string, deployments []appsv1.Deployment, all []claim) sets.Set[string] {
	found := sets.New(name)
	for grown := true; grown; {
		grown = false
		for i := range deployments {
			matching := sets.New[string]()
			for _, c := range all {
				if c.matches(&deployments[i]) {
					matching.Insert(c.coordination.Name)
				}
			}
			if found.HasAny(matching.UnsortedList()...) && !found.IsSuperset(matching) {
				found = found.Union(matching)
				grown = true
			}
		}
	}
	return found.Delete(name)
}
