package removal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsapi "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func newRemover(funcs interceptor.Funcs, objects ...client.Object) (*Remover, *strings.Builder) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(appsapi.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	out := &strings.Builder{}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
	return New(api, Options{Timeout: time.Second, Out: out}), out
}

func coordination(namespace, name string) *appsapi.DeploymentCoordination {
	return &appsapi.DeploymentCoordination{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Finalizers: []string{"example.com/other", appsapi.Finalizer},
	}}
}

// paused is a Deployment that a coordination paused, or its owner if that is empty.
func paused(namespace, name, by string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	d.Annotations = map[string]string{"own": "annotation"}
	if by != "" {
		d.Annotations[appsapi.PausedByAnnotation], d.Annotations[appsapi.PauseReasonAnnotation] = by, appsapi.PauseReason
	}
	d.Spec.Paused = true
	return d
}

// held is what is still held, as kind namespace/name.
func held(t *testing.T, api client.Client) []string {
	t.Helper()
	var deployments appsv1.DeploymentList
	require.NoError(t, api.List(t.Context(), &deployments))
	names := []string{}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		assert.Equal(t, "annotation", d.Annotations["own"])
		if d.Spec.Paused {
			names = append(names, "Deployment "+nameOf(d))
		}
	}
	var coordinations appsapi.DeploymentCoordinationList
	require.NoError(t, api.List(t.Context(), &coordinations))
	for i := range coordinations.Items {
		c := &coordinations.Items[i]
		assert.Equal(t, "example.com/other", c.Finalizers[0], "other finalizers stay")
		if len(c.Finalizers) > 1 {
			names = append(names, "DeploymentCoordination "+nameOf(c))
		}
	}
	return names
}

func TestRelease(t *testing.T) {
	objects := func() []client.Object {
		return []client.Object{
			coordination("shop", "proxies"), paused("shop", "a", "proxies"), paused("shop", "owned", ""),
			coordination("store", "caches"), paused("store", "b", "caches"), paused("store", "orphan", "deleted-long-ago"),
		}
	}
	t.Run("what we paused is unpaused, whether its coordination exists or not, and what its owner paused stays", func(t *testing.T) {
		r, _ := newRemover(interceptor.Funcs{}, objects()...)
		require.NoError(t, r.releaseAll(t.Context()))
		assert.Equal(t, []string{"Deployment shop/owned"}, held(t, r.client))
		assert.Equal(t, 5, r.changes)
		require.NoError(t, r.releaseAll(t.Context()))
		assert.Equal(t, 5, r.changes, "a second time there is nothing to do")
	})
	t.Run("a Deployment that cannot be unpaused keeps the finalizers of its namespace, and nothing else", func(t *testing.T) {
		r, _ := newRemover(interceptor.Funcs{Patch: func(
			ctx context.Context, api client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption,
		) error {
			if object.GetName() == "a" {
				return errors.New("a webhook says no")
			}
			return api.Patch(ctx, object, patch, options...)
		}}, objects()...)
		err := r.releaseAll(t.Context())
		assert.ErrorContains(t, err, "unpause Deployment shop/a")
		assert.ErrorContains(t, err, "a webhook says no")
		assert.Equal(t, []string{"Deployment shop/a", "Deployment shop/owned", "DeploymentCoordination shop/proxies"}, held(t, r.client))
	})
	t.Run("what is paused again at once is paused by a controller that still runs", func(t *testing.T) {
		r, _ := newRemover(interceptor.Funcs{Patch: func(
			ctx context.Context, api client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption,
		) error {
			if object.GetName() == "b" {
				return nil // as if it were paused again before anybody looks
			}
			return api.Patch(ctx, object, patch, options...)
		}}, objects()...)
		assert.ErrorContains(t, r.releaseAll(t.Context()), "a podsequence-controller still runs")
	})
	t.Run("a conflict with a controller that does the same is no failure", func(t *testing.T) {
		conflicts := 0
		r, _ := newRemover(interceptor.Funcs{Patch: func(
			ctx context.Context, api client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption,
		) error {
			if conflicts == 0 && object.GetName() == "a" {
				conflicts++
				other := &appsv1.Deployment{}
				if err := api.Get(ctx, client.ObjectKeyFromObject(object), other); err != nil {
					return err
				}
				other.Spec.Paused = false
				delete(other.Annotations, appsapi.PausedByAnnotation)
				if err := api.Update(ctx, other); err != nil {
					return err
				}
			}
			return api.Patch(ctx, object, patch, options...)
		}}, objects()...)
		require.NoError(t, r.releaseAll(t.Context()))
		assert.Equal(t, 1, conflicts)
		assert.Equal(t, []string{"Deployment shop/owned"}, held(t, r.client))
	})
}

func TestReleaseRemovesTheFinalizerOfTheControllerBefore(t *testing.T) {
	sequence := func(name string, finalizers ...string) *v1alpha1.PodSequence {
		return &v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Finalizers: finalizers}}
	}
	r, out := newRemover(interceptor.Funcs{Patch: func(
		ctx context.Context, api client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption,
	) error {
		if object.GetName() == "refused" {
			return errors.New("a webhook says no")
		}
		return api.Patch(ctx, object, patch, options...)
	}}, sequence("migrated", "example.com/other", v1alpha1.FormerFinalizer), sequence("new"), sequence("refused", v1alpha1.FormerFinalizer),
		sequence("too", v1alpha1.FormerFinalizer))
	assert.ErrorContains(t, r.releaseAll(t.Context()), "remove finalizer of PodSequence shop/refused: ")
	var list v1alpha1.PodSequenceList
	require.NoError(t, r.client.List(t.Context(), &list))
	found := map[string][]string{}
	for _, ps := range list.Items {
		found[ps.Name] = ps.Finalizers
	}
	assert.Equal(t, map[string][]string{
		"migrated": {"example.com/other"}, "new": nil, "refused": {v1alpha1.FormerFinalizer}, "too": nil,
	}, found)
	assert.Equal(t, "released  PodSequence shop/migrated\nreleased  PodSequence shop/too\n", out.String())
}
