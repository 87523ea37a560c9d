package sequentialjob

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func newSaved(t *testing.T) *quota {
	q := newQuota(t, map[string]int{"data": 1})
	q.refuses = func(*batchv1.Job) error { return nil }
	q.writeFinalizers("example.com/first", v1alpha1.FormerFinalizer, "example.com/last")
	return q
}

func (q *quota) writeFinalizers(finalizers ...string) {
	q.Helper()
	q.changeObject(func(object *v1alpha1.SequentialJob) { object.Finalizers = finalizers })
}

func (q *quota) finalizers() []string {
	q.Helper()
	object := &v1alpha1.SequentialJob{}
	require.NoError(q, q.client.Get(q.Context(), keyOf(objectMeta("data", "s-00")), object))
	return object.Finalizers
}

func TestTheFinalizerOfTheFormerOperatorIsRemoved(t *testing.T) {
	q := newSaved(t)
	q.look()
	assert.Equal(t, []string{"example.com/first", "example.com/last"}, q.finalizers())
	q.look()
	assert.Equal(t, v1alpha1.PhaseRunning, q.status("data", "s-00").Phase)
}

// The former operator, if it still runs, writes it again at once.
func TestTheFinalizerIsRemovedOnceUntilTheObjectIsDeleted(t *testing.T) {
	q := newSaved(t)
	q.look()
	q.writeFinalizers(v1alpha1.FormerFinalizer)
	q.look()
	assert.Equal(t, []string{v1alpha1.FormerFinalizer}, q.finalizers())
	object := &v1alpha1.SequentialJob{}
	object.Namespace, object.Name = "data", "s-00"
	require.NoError(t, q.client.Delete(t.Context(), object))
	q.look()
	err := q.client.Get(t.Context(), client.ObjectKeyFromObject(object), object)
	assert.True(t, apierrors.IsNotFound(err), "the object is there: %v", err)
}

// withoutPatch is a client that may not patch SequentialJobs.
type withoutPatch struct{ client.Client }

func (withoutPatch) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return apierrors.NewForbidden(v1alpha1.SequentialJobResource.GroupResource(), "s-00", errors.New("not granted"))
}

func TestAFinalizerThatCannotBeRemovedKeepsNoStepFromStarting(t *testing.T) {
	q := newSaved(t)
	q.writer = withoutPatch{q.client}
	q.pass(time.Second)
	assert.Equal(t, v1alpha1.PhaseRunning, q.status("data", "s-00").Phase)
	assert.Contains(t, q.finalizers(), v1alpha1.FormerFinalizer)
	q.writer = q.client
	q.pass(time.Minute)
	assert.NotContains(t, q.finalizers(), v1alpha1.FormerFinalizer)
}
