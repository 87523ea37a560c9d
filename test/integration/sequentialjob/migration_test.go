package sequentialjob

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// The former operator put its finalizer on every object, and kubectl get -o yaml saves it.
func TestAnObjectThatWasSavedWithTheFormerFinalizerCanBeDeletedWithItsNamespace(t *testing.T) {
	s := newStory(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-saved"}}
	s.Create(namespace)
	object := s.steps("saved", 2)
	object.Namespace = namespace.Name
	object.Finalizers = []string{v1alpha1.FormerFinalizer}
	s.Create(object)
	key := s.Key("saved")
	key.Namespace = namespace.Name
	s.Await("the finalizer to be removed", func() bool {
		require.NoError(t, s.API.Get(s.Ctx, key, object))
		return len(object.Finalizers) == 0
	})
	s.Await("it to run", func() bool {
		require.NoError(t, s.API.Get(s.Ctx, key, object))
		return object.Status.Phase == v1alpha1.PhaseRunning
	})
	require.NoError(t, s.API.Delete(s.Ctx, namespace))
	s.Await("it to be gone", func() bool { return apierrors.IsNotFound(s.API.Get(s.Ctx, key, object)) })
	s.Await("the namespace to be gone", func() bool {
		return apierrors.IsNotFound(s.API.Get(s.Ctx, s.Key(namespace.Name), namespace))
	})
}

// The controller was away when it was deleted.
func TestAnObjectWithTheFormerFinalizerThatWasDeletedBeforeTheControllerStartedIsReleased(t *testing.T) {
	s := newStoryOfVictims(t)
	object := s.steps("saved", 2)
	object.Finalizers = []string{v1alpha1.FormerFinalizer}
	s.WhileControllerDown(func() {
		s.Create(object)
		require.NoError(t, s.API.Delete(s.Ctx, object))
		require.NoError(t, s.API.Get(s.Ctx, s.Key("saved"), object))
		assert.NotNil(t, object.DeletionTimestamp)
	})
	s.Await("it to be gone", func() bool { return apierrors.IsNotFound(s.API.Get(s.Ctx, s.Key("saved"), object)) })
}
