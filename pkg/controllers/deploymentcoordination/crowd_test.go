package deploymentcoordination

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
)

// shelf is a cache and an API server of one namespace that costs no more than a cache does. It counts what is asked.
type shelf struct {
	client.Client
	lock          sync.Mutex
	coordinations []v1.DeploymentCoordination
	deployments   []appsv1.Deployment
	replicaSets   []appsv1.ReplicaSet
	lists         int
}

func newShelf(coordinations, deployments int) *shelf {
	s := &shelf{}
	for i := range coordinations {
		c := coordination("")
		c.Name, c.UID, c.ResourceVersion = fmt.Sprintf("c-%04d", i), types.UID(fmt.Sprintf("uid-c-%04d", i)), "1"
		c.Finalizers = []string{v1.Finalizer}
		s.coordinations = append(s.coordinations, *c)
	}
	for i := range deployments {
		m := deployment(fmt.Sprintf("d-%04d", i))
		m.Deployment.ResourceVersion, m.ReplicaSets[0].ResourceVersion = "1", "1"
		s.deployments = append(s.deployments, *m.Deployment)
		s.replicaSets = append(s.replicaSets, *m.ReplicaSets[0])
	}
	return s
}

func (s *shelf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.lists++
	switch l := list.(type) {
	case *v1.DeploymentCoordinationList:
		l.Items = slices.Clone(s.coordinations)
	case *appsv1.DeploymentList:
		l.Items = slices.Clone(s.deployments)
	case *appsv1.ReplicaSetList:
		l.Items = slices.Clone(s.replicaSets)
	}
	return nil
}

func (s *shelf) Get(_ context.Context, key types.NamespacedName, object client.Object, _ ...client.GetOption) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	for i := range s.coordinations {
		if s.coordinations[i].Name == key.Name {
			s.coordinations[i].DeepCopyInto(object.(*v1.DeploymentCoordination))
			return nil
		}
	}
	return apierrors.NewNotFound(appsv1.Resource("x"), key.Name)
}

var _ = testing.Short
