package deploymentcoordination

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "example.com/podsequence/apis/apps/v1"
)

// The policy pauses Deployments for a coordination from the moment on in which the API server has it.
func TestNothingIsReleasedByACacheThatLags(t *testing.T) {
	c, live := newCrowd(t), newCrowd(t).shelf
	c.fill("shop", 1, 2)
	live.fill("shop", 1, 2)
	c.live = live
	unseen := c.coordinations["shop"]
	c.coordinations["shop"] = nil
	isPaused := func() (paused []bool) {
		for i := range c.deployments["shop"] {
			paused = append(paused, c.deployments["shop"][i].Spec.Paused)
		}
		return paused
	}
	for i := range c.deployments["shop"] {
		held(&Member{Deployment: &c.deployments["shop"][i]})
		c.change("shop", i)
	}
	c.settle("shop")
	assert.Equal(t, []bool{true, true}, isPaused())
	assert.Equal(t, 1, live.requests, "one for both")

	c.coordinations["shop"] = unseen
	c.event(ofCoordination, &unseen[0])
	c.settle("shop")
	assert.Equal(t, []bool{true, true}, isPaused())

	t.Log("and then it is deleted")
	c.coordinations["shop"], live.coordinations["shop"] = nil, nil
	c.event(ofCoordination, &unseen[0])
	c.settle("shop")
	assert.Equal(t, []bool{false, false}, isPaused())
}

func TestWhatWasPausedIsReleasedWhenTheDefinitionIsGone(t *testing.T) {
	for name, err := range map[string]error{
		"and known to be":     &meta.NoKindMatchError{GroupKind: v1.DeploymentCoordinationKind.GroupKind()},
		"and not known to be": apierrors.NewNotFound(v1.DeploymentCoordinationResource.GroupResource(), ""),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t)
			c.fill("shop", 0, 1)
			held(&Member{Deployment: &c.deployments["shop"][0]})
			c.live = interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return err },
			})
			c.settle("shop")
			assert.False(t, c.deployments["shop"][0].Spec.Paused)
		})
	}
}
