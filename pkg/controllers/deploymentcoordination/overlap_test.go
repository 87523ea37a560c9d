package deploymentcoordination

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "example.com/podsequence/apis/apps/v1"
)

// selecting makes a coordination that selects Deployments which carry the label.
func selecting(name, label string) v1.DeploymentCoordination {
	c := coordination("")
	c.Name = name
	c.Spec.LabelSelector = &v1.LabelSelector{
		MatchExpressions: []v1.LabelSelectorRequirement{{Key: label, Operator: v1.LabelSelectorOpExists}},
	}
	return *c
}

func labelled(name string, labels ...string) appsv1.Deployment {
	d := deployment(name).Deployment
	d.Labels = map[string]string{}
	for _, label := range labels {
		d.Labels[label] = ""
	}
	return *d
}

// surroundingsOf sorts the coordinations, as surroundings are.
func surroundingsOf(deployments []appsv1.Deployment, coordinations ...v1.DeploymentCoordination) surroundings {
	slices.SortFunc(coordinations, func(a, b v1.DeploymentCoordination) int { return strings.Compare(a.Name, b.Name) })
	for i := range coordinations {
		coordinations[i].UID = types.UID("uid-" + coordinations[i].Name)
	}
	return surroundings{coordinations: coordinations, deployments: deployments}
}

// overlapping names the coordinations that overlap with each one.
func overlapping(around surroundings) map[string][]string {
	p := planFor(nil, around, 100)
	all := map[string][]string{}
	for i, group := range p.groups {
		for _, j := range group {
			if i != j {
				all[around.coordinations[i].Name] = append(all[around.coordinations[i].Name], around.coordinations[j].Name)
			}
		}
	}
	return all
}

func TestOverlapping(t *testing.T) {
	deployments := []appsv1.Deployment{labelled("d1", "x", "y"), labelled("d2", "y", "z"), labelled("d3", "w"), labelled("d4", "x")}
	deleted := selecting("deleted", "w")
	deleted.DeletionTimestamp = &metav1.Time{Time: noon}
	unreadable := selecting("unreadable", "w")
	unreadable.Spec.LabelSelector.MatchExpressions[0].Operator = "Like"
	around := surroundingsOf(deployments,
		selecting("z", "z"), selecting("y", "y"), selecting("x", "x"), selecting("w", "w"), deleted, unreadable)
	assert.Equal(t, map[string][]string{
		"x": {"y", "z"}, // with z by way of y
		"y": {"x", "z"}, "z": {"x", "y"},
		// neither what is being deleted nor what cannot be read overlaps with w
	}, overlapping(around))
}

func TestHandler(t *testing.T) {
	deployments := []appsv1.Deployment{labelled("d", "x", "y")}
	handler := func(coordinations ...v1.DeploymentCoordination) string {
		around := surroundingsOf(deployments, coordinations...)
		n := &turn{around: around, plan: planFor(nil, around, 100)}
		return n.coordination(n.handler(0)).Name
	}
	x, y := selecting("x", "x"), selecting("y", "y")
	assert.Equal(t, "x", handler(y, x), "the first by name")
	y.Status.ActiveDeployment = "shop/d"
	assert.Equal(t, "y", handler(y, x), "the one for which it is active")
}

func TestAPlanIsMadeAnewOnlyWhenSelectorsOrLabelsChange(t *testing.T) {
	around := surroundingsOf([]appsv1.Deployment{labelled("d1", "x")}, selecting("x", "x"), selecting("y", "y"))
	first := planFor(nil, around, 100)

	around.coordinations[0].ResourceVersion, around.coordinations[0].Status.ActiveDeployment = "2", "shop/d1"
	around.deployments[0].ResourceVersion = "2"
	around.deployments[0].Labels = map[string]string{"x": ""}
	assert.Same(t, first, planFor(first, around, 100), "a write of status is no cause")

	around.deployments[0].Labels = map[string]string{"x": "", "y": ""}
	relabelled := planFor(first, around, 100)
	assert.Equal(t, []int{0, 1}, relabelled.matching[0])
	assert.Equal(t, []int{0, 1}, relabelled.groups[0])

	around.coordinations[1].Generation++
	around.coordinations[1].Spec.LabelSelector.MatchExpressions[0].Key = "z"
	edited := planFor(relabelled, around, 100)
	assert.Equal(t, []int{0}, edited.matching[0])
	assert.Equal(t, []int{0}, edited.groups[0])
}

func TestWhichCoordinationsCount(t *testing.T) {
	aged := func(name string, age time.Duration) v1.DeploymentCoordination {
		c := selecting(name, "x")
		c.CreationTimestamp = *at(-age)
		return c
	}
	active := aged("active", 0)
	active.Status.ActiveDeployment = "shop/d"
	deleted := aged("deleted", 5*time.Hour)
	deleted.DeletionTimestamp = &metav1.Time{Time: noon}
	around := surroundingsOf(nil, active, deleted, aged("old", 3*time.Hour), aged("new", time.Hour), aged("middle", 2*time.Hour))
	for limit, want := range map[int][]string{
		1: {"active"},
		3: {"active", "middle", "old"},
		4: {"active", "middle", "new", "old"},
	} {
		var got []string
		for i, counts := range counting(around.coordinations, limit) {
			if counts {
				got = append(got, around.coordinations[i].Name)
			}
		}
		assert.Equal(t, want, got, "at most %d", limit)
	}

	t.Log("a lower limit while more of them have a turn")
	for i := range around.coordinations {
		around.coordinations[i].Status.ActiveDeployment = "shop/d"
	}
	assert.Equal(t, []bool{true, false, true, true, true}, counting(around.coordinations, 2))
}
