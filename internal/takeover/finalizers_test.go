package takeover

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// counting counts patches, which all succeed.
type counting int

func (c *counting) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	*c++
	return nil
}

func TestAFinalizerIsRemovedOnceFromEachObject(t *testing.T) {
	const former = "example.com/former"
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "order", UID: "a", Finalizers: []string{former}}}
	finalizers, patches := NewFinalizers(former), counting(0)
	remove := func() bool {
		isDone, err := finalizers.Remove(t.Context(), &patches, object)
		require.NoError(t, err)
		return isDone
	}
	assert.True(t, remove())
	assert.False(t, remove(), "whoever writes it again is not kept busy")
	object.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	assert.True(t, remove(), "nobody else would remove it")
	object.DeletionTimestamp = nil
	object.UID = "b"
	assert.True(t, remove(), "it is another object")
	finalizers.Forget(client.ObjectKeyFromObject(object))
	assert.Empty(t, finalizers.removed)
	object.Finalizers = nil
	assert.False(t, remove())
	assert.EqualValues(t, 3, patches)
}
