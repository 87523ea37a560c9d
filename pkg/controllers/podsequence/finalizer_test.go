package podsequence

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// migrated is a sequence that the controller wrote which PodSequence replaces.
func migrated(version string) *v1alpha1.PodSequence {
	ps := tiers().Obj()
	ps.ResourceVersion = version
	ps.Finalizers = []string{"example.com/other", v1alpha1.FormerFinalizer}
	return ps
}

func TestTheFormerFinalizerIsRemovedOnceAndThenTheStatusIsWritten(t *testing.T) {
	t.Cleanup(func() { forgetCounted(shop) })
	f := newStatusFixture()
	f.engine.ApplySequence(migrated("1"))
	assert.Equal(t, writeInterval, f.reconcile(t))
	assert.Equal(t, [][]string{{"example.com/other"}}, f.finalizers)
	assert.Empty(t, f.written, "of this version, nothing more can be written")

	f.engine.ApplySequence(migrated("2"))
	f.reconcile(t)
	assert.Len(t, f.finalizers, 1, "whoever writes it again is not kept busy")
	assert.Len(t, f.written, 1)

	going := migrated("3")
	going.Generation++
	going.DeletionTimestamp = &metav1.Time{Time: f.clock.Now()}
	f.engine.ApplySequence(going)
	f.clock.SetTime(f.clock.Now().Add(time.Minute))
	f.reconcile(t)
	assert.Len(t, f.finalizers, 2, "nobody else would remove it")
}

func TestAFormerFinalizerThatCannotBeRemovedKeepsNoStatusBack(t *testing.T) {
	t.Cleanup(func() { forgetCounted(shop) })
	f := newStatusFixture()
	f.engine.ApplySequence(migrated("1"))
	f.patcher = refusing{f, errors.New("forbidden")}
	assert.Equal(t, finalizerAgain, f.reconcile(t))
	assert.Len(t, f.written, 1)

	f = newStatusFixture()
	f.engine.ApplySequence(migrated("1"))
	f.patcher = refusing{f, apierrors.NewConflict(schema.GroupResource{}, "backend", nil)}
	assert.Equal(t, writeInterval, f.reconcile(t))
	assert.Empty(t, f.written)
}

// refusing is an API server that refuses patches.
type refusing struct {
	*statusFixture
	why error
}

// Patch fails.
func (r refusing) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return r.why
}
