package deploymentcoordination

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	v1 "example.com/podsequence/apis/apps/v1"
)

// selecting makes a coordination that selects Deployments which carry the label.
func selecting(name, label string) v1.DeploymentCoordination {
	c := coordination("")
	c.Name = name
	c.Spec.LabelSelector = v1.LabelSelector{
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

func TestOverlapping(t *testing.T) {
	deployments := []appsv1.Deployment{labelled("d1", "x", "y"), labelled("d2", "y", "z"), labelled("d3", "w"), labelled("d4", "x")}
	deleted := selecting("deleted", "w")
	deleted.DeletionTimestamp = &metav1.Time{Time: noon}
	unreadable := selecting("unreadable", "w")
	unreadable.Spec.LabelSelector.MatchExpressions[0].Operator = "Like"
	all := claims([]v1.DeploymentCoordination{
		selecting("z", "z"), selecting("y", "y"), selecting("x", "x"), selecting("w", "w"), deleted, unreadable,
	})
	assert.Equal(t, []string{"y", "z"}, sets.List(overlapping("x", deployments, all)), "with z by way of y")
	assert.Equal(t, []string{"x", "z"}, sets.List(overlapping("y", deployments, all)))
	assert.Empty(t, overlapping("w", deployments, all), "neither what is being deleted nor what cannot be read counts")
}

func TestHandler(t *testing.T) {
	d := labelled("d", "x", "y")
	x, y := selecting("x", "x"), selecting("y", "y")
	assert.Equal(t, "x", handlerOf(&d, claims([]v1.DeploymentCoordination{y, x})), "the first by name")
	y.Status.ActiveDeployment = "shop/d"
	assert.Equal(t, "y", handlerOf(&d, claims([]v1.DeploymentCoordination{y, x})), "the one for which it is active")
	assert.Empty(t, handlerOf(&d, claims([]v1.DeploymentCoordination{selecting("z", "z")})))
}
