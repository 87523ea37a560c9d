package kindcache

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/internal/definitions"
)

const patience = 30 * time.Second

// cluster is an API server with one kind, which can be installed and removed.
type cluster struct {
	t     *testing.T
	cache *Cache
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]

	definitions *cachetesting.FakeControllerSource
	definition  *apiextensionsv1.CustomResourceDefinition // that has been installed last

	lock   sync.Mutex
	stored *cachetesting.FakeControllerSource // what a new watch finds
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1.AddToScheme(scheme))
	require.NoError(t, corev1.AddToScheme(scheme))
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1.DeploymentCoordinationKind, meta.RESTScopeNamespace)
	c := &cluster{
		t: t, definitions: cachetesting.NewFakeControllerSource(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()),
	}
	t.Cleanup(c.queue.ShutDown)
	resource := v1.DeploymentCoordinationResource
	var err error
	c.cache, err = newCache(resource, &v1.DeploymentCoordination{}, scheme, definitions.NewWithSource(resource.GroupResource(), c.definitions))
	require.NoError(t, err)
	c.cache.newCache = func() (cache.Cache, error) {
		c.lock.Lock()
		stored := c.stored
		c.lock.Unlock()
		return cache.New(&rest.Config{}, cache.Options{
			HTTPClient: http.DefaultClient, Scheme: scheme, Mapper: mapper,
			NewInformer: func(_ toolscache.ListerWatcher, object runtime.Object, _ time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
				return toolscache.NewSharedIndexInformer(stored, object, 0, indexers)
			},
		})
	}
	return c
}

// install installs the kind, with objects of these names.
func (c *cluster) install(names ...string) {
	c.installWith(cachetesting.NewFakeControllerSource(), names...)
}

func (c *cluster) installWith(stored *cachetesting.FakeControllerSource, names ...string) {
	for _, name := range names {
		stored.Add(&v1.DeploymentCoordination{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}})
	}
	c.lock.Lock()
	c.stored = stored
	c.lock.Unlock()
	c.definition = &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: v1.DeploymentCoordinationResource.GroupResource().String(), UID: uuid.NewUUID(),
	}}
	c.definition.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
	}
	c.definitions.Add(c.definition)
}

// remove removes the definition. The watch of the objects does not report that they are gone.
func (c *cluster) remove() { c.definitions.Delete(c.definition.DeepCopy()) }

// expectRequests waits for requests of these objects, each once.
func (c *cluster) expectRequests(names ...string) {
	c.t.Helper()
	var got []string
	for range names {
		request, _ := c.queue.Get()
		c.queue.Done(request)
		got = append(got, request.Name)
	}
	assert.ElementsMatch(c.t, names, got, "requests")
	assert.Zero(c.t, c.queue.Len(), "more requests")
}

func (c *cluster) expectObjects(names ...string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	list := &v1.DeploymentCoordinationList{Items: make([]v1.DeploymentCoordination, 3)}
	require.NoError(c.t, c.cache.List(ctx, list))
	var got []string
	for _, object := range list.Items {
		got = append(got, object.Name)
	}
	assert.ElementsMatch(c.t, names, got, "objects")
}

func TestAKindComesAndGoes(t *testing.T) {
	c := newCluster(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorContains(t, c.cache.List(ended, &v1.DeploymentCoordinationList{}),
		"wait until it is known which deploymentcoordinations there are")

	source := c.cache.Source(&handler.EnqueueRequestForObject{})
	require.NoError(t, source.Start(t.Context(), c.queue))
	require.NoError(t, source.WaitForSync(t.Context()))
	c.expectObjects()
	key := client.ObjectKey{Namespace: "shop", Name: "a"}
	assert.True(t, apierrors.IsNotFound(c.cache.Get(t.Context(), key, &v1.DeploymentCoordination{})))

	c.install("a", "b")
	c.expectRequests("a", "b")
	c.expectObjects("a", "b")
	require.NoError(t, c.cache.Get(t.Context(), key, &v1.DeploymentCoordination{}))

	c.remove()
	c.expectRequests("a", "b")
	c.expectObjects()

	c.install("c")
	c.expectRequests("c")
	c.expectObjects("c")

	t.Log("the definition is replaced while nobody watches")
	c.install("d")
	c.expectRequests("c", "d")
	c.expectObjects("d")
}

func TestObjectsThatWereNotYetToldToBeGoneAreToldLater(t *testing.T) {
	c := newCluster(t)
	c.install("a")
	require.NoError(t, c.cache.Source(&handler.EnqueueRequestForObject{}).Start(t.Context(), c.queue))
	c.expectRequests("a")
	t.Log("the definition is replaced, and is gone before the objects of the new one can be listed")
	c.installWith(&cachetesting.FakeControllerSource{ListError: errors.New("the API server is overloaded")})
	c.remove()
	c.expectRequests("a")
	c.expectObjects()
}

func TestASourceIsInSyncOnceItsObjectsAreKnown(t *testing.T) {
	c := newCluster(t)
	source := c.cache.Source(&handler.EnqueueRequestForObject{})
	c.install("a")
	require.NoError(t, source.Start(t.Context(), c.queue))
	require.NoError(t, source.WaitForSync(t.Context()))
	assert.Equal(t, 1, c.queue.Len(), "requests")
	c.expectObjects("a")
}

func TestAReaderBesideAnotherReadsOnlyItsKind(t *testing.T) {
	c := newCluster(t)
	c.install("here")
	require.NoError(t, c.cache.Source(&handler.EnqueueRequestForObject{}).Start(t.Context(), c.queue))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pod"}}
	elsewhere := &v1.DeploymentCoordination{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "elsewhere"}}
	reader := c.cache.Beside(fake.NewClientBuilder().WithScheme(c.cache.scheme).WithObjects(pod, elsewhere).Build())

	require.NoError(t, reader.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{}))
	var pods corev1.PodList
	require.NoError(t, reader.List(t.Context(), &pods))
	assert.Len(t, pods.Items, 1)
	var coordinations v1.DeploymentCoordinationList
	require.NoError(t, reader.List(t.Context(), &coordinations))
	require.Len(t, coordinations.Items, 1)
	assert.Equal(t, "here", coordinations.Items[0].Name)
	err := reader.Get(t.Context(), client.ObjectKeyFromObject(elsewhere), &v1.DeploymentCoordination{})
	assert.True(t, apierrors.IsNotFound(err))
}
