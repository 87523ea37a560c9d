package deployment

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestAStolenTokenOfTheControllerOnlyRemovesTheFinalizerOfTheFormerOperator(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	object := stepsOf(ns, "migrated", nil)
	object.Finalizers = []string{"example.com/kept"}
	create(s, object)
	merge := func(content string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(content)) }
	s.Cleanup(func() {
		assert.NoError(s, s.cluster.API.Patch(context.Background(), object, merge(`{"metadata":{"finalizers":null}}`)))
	})
	patch := func(patch string) attempt { return patching(steps, "migrated", types.MergePatchType, patch) }
	may := ": podsequence-controller may not change these fields of sequentialjobs, only the status"
	stolen := stealToken(s, "podsequence-controller", ns)
	stolen.awaitRefusal(patch(`{"spec":{"suspend":false}}`), "podsequence-controller-kinds")
	stolen.expectRefused(refusals{
		"to let it run":                   {patch(`{"spec":{"suspend":false}}`), "spec" + may},
		"a label":                         {patch(`{"metadata":{"labels":{"a":"b"}}}`), "metadata.labels" + may},
		"to run it again":                 {patch(`{"metadata":{"annotations":{"batch.example.com/retry":"1"}}}`), "metadata.annotations" + may},
		"to remove a finalizer of others": {patch(`{"metadata":{"finalizers":null}}`), "metadata.finalizers of others" + may},
		"a finalizer of others":           {patch(`{"metadata":{"finalizers":["example.com/kept","example.com/stay"]}}`), "metadata.finalizers of others" + may},
		"that of the former operator": {
			patch(`{"metadata":{"finalizers":["example.com/kept","sequentialjob.myapp.example.com/finalizer"]}}`), "metadata.finalizers of others" + may,
		},
		"that of another former controller": {
			patch(`{"metadata":{"finalizers":["example.com/kept","podsequence.example.com/finalizer"]}}`), "metadata.finalizers of others" + may,
		},
	})
	// The program itself removes it when it sees it.
	require.NoError(s, s.cluster.API.Patch(s.Context(), object,
		merge(`{"metadata":{"finalizers":["example.com/kept","sequentialjob.myapp.example.com/finalizer"]}}`)))
	stolen.expectAccepted(map[string]attempt{
		"to remove that of the former operator": patch(`{"metadata":{"finalizers":["example.com/kept"]}}`),
	})
}
