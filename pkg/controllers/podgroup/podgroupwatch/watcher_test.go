package podgroupwatch

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/component-base/metrics/testutil"

	"example.com/podsequence/internal/definitions"
	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/internal/reflectors"
)

// stage is a Watcher of one kind, whose API server the test plays.
type stage struct {
	*testing.T
	definitions, groups *cachetesting.FakeControllerSource
	watcher             *Watcher
	changes             chan string
}

// play runs a watcher until the end of the test.
func play(t *testing.T) *stage {
	s := &stage{
		T: t, definitions: cachetesting.NewFakeControllerSource(), groups: cachetesting.NewFakeControllerSource(),
		changes: make(chan string, 100),
	}
	s.watcher = newWatcher(&kind{
		name:       podgroups.Coscheduling,
		definition: definitions.NewWithSource(schema.ParseGroupResource(string(podgroups.Coscheduling)), s.definitions),
		groups:     reflectors.Reflector{Source: s.groups, Type: &unstructured.Unstructured{}}, minimumOf: podgroups.MinMember,
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.watcher.Run(ctx, func(group podgroups.Reference) { s.changes <- group.Name })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return s
}

func definition(uid types.UID, established apiextensionsv1.ConditionStatus) *apiextensionsv1.CustomResourceDefinition {
	d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: string(podgroups.Coscheduling), UID: uid}}
	d.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: established}}
	return d
}

func served(uid types.UID) *apiextensionsv1.CustomResourceDefinition {
	return definition(uid, apiextensionsv1.ConditionTrue)
}

func group(name string, minimum int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
		"metadata": map[string]any{"namespace": "train", "name": name}, "spec": map[string]any{"minMember": minimum},
	}}
}

func reference(name string) podgroups.Reference {
	return podgroups.Reference{Kind: podgroups.Coscheduling, NamespacedName: types.NamespacedName{Namespace: "train", Name: name}}
}

func TestAPodGroupThatTheTypeCannotHoldHidesNoOther(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case q.Get("sendInitialEvents") != "":
			http.Error(w, "no streaming lists", http.StatusBadRequest)
		case q.Get("watch") != "":
			w.Header().Set("Content-Type", "application/json")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			broken := `{"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup","metadata":{"namespace":"hostile","name":"broken"},"spec":{"minMember":1,"minResources":{"cpu":"1e1.5"}}},`
			if q.Get("fieldSelector") == "metadata.name=gang" {
				broken = ""
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroupList","metadata":{"resourceVersion":"7"},"items":[`+broken+`
{"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup","metadata":{"namespace":"train","name":"gang"},"spec":{"minMember":4}}]}`)
		}
	}))
	t.Cleanup(server.Close)
	k, err := newCoscheduling(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	w := newWatcher(k)
	changes := make(chan podgroups.Reference, 2)
	k.changed, k.groups.Failed = func(group podgroups.Reference) { changes <- group }, func(context.Context, error) {}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.groups.Run(ctx, groupStore{k})
	}()
	for range 2 {
		select {
		case <-changes:
		case <-ctx.Done():
			require.Fail(t, "it is not known which PodGroups there are")
		}
	}
	gang := reference("gang")
	minimum, known := w.Minimum(gang)
	assert.True(t, known)
	assert.EqualValues(t, 4, minimum)
	minimum, exists, err := w.Ask(ctx, gang)
	require.NoError(t, err)
	assert.True(t, exists)
	assert.EqualValues(t, 4, minimum)
	cancel()
	<-done
}

// expectChange waits until a PodGroup is told of, and checks what is known of it then. Zero stands for not known.
func (s *stage) expectChange(name string, minimum int32) {
	s.Helper()
	select {
	case got := <-s.changes:
		require.Equal(s, name, got)
	case <-time.After(30 * time.Second):
		require.Fail(s, "nothing is told", "waited for %s", name)
	}
	got, known := s.watcher.Minimum(reference(name))
	assert.Equal(s, minimum > 0, known)
	assert.Equal(s, minimum, got)
}

func TestAKindThatComesAndGoes(t *testing.T) {
	s := play(t)
	s.groups.Add(group("gang", 4))
	_, known := s.watcher.Minimum(reference("gang"))
	assert.False(t, known, "the kind is not there")

	s.definitions.Add(served("first"))
	s.expectChange("gang", 4)
	s.groups.Modify(group("gang", 5))
	s.expectChange("gang", 5)
	s.groups.Modify(group("gang", 5)) // which is no change
	s.groups.Add(group("other", 2))
	s.expectChange("other", 2)
	s.groups.Delete(group("other", 2))
	s.expectChange("other", 0)

	s.definitions.Delete(served("first"))
	s.expectChange("gang", 0)
	s.definitions.Add(served("second"))
	s.expectChange("gang", 5)
}

func TestAKindIsOnlyWatchedOnceItIsServed(t *testing.T) {
	s := play(t)
	s.groups.Add(group("gang", 4))
	s.definitions.Add(definition("first", apiextensionsv1.ConditionFalse))
	s.definitions.Modify(served("first"))
	s.expectChange("gang", 4)
	s.definitions.Modify(served("first")) // its status changes: the watch goes on
	s.groups.Add(group("other", 2))
	s.expectChange("other", 2)
}

func TestARelistIsOneStep(t *testing.T) {
	k := &kind{name: podgroups.Coscheduling, minimumOf: podgroups.MinMember, known: map[types.NamespacedName]int32{}}
	changed := map[string]int{}
	k.changed = func(r podgroups.Reference) { changed[r.Name]++ }
	store := groupStore{k}
	require.NoError(t, store.Replace([]any{group("same", 1), group("other", 1), group("gone", 1)}, ""))
	clear(changed)
	require.NoError(t, store.Replace([]any{group("same", 1), group("other", 2), group("new", 1)}, ""))
	assert.Equal(t, map[string]int{"other": 1, "gone": 1, "new": 1}, changed)
	assert.Error(t, store.Add(&metav1.PartialObjectMetadata{}), "not a PodGroup")
}

// The definition may serve another version only, its webhook may be down, or a permission may be missing.
func TestAKindThatCannotBeReadIsAsIfItWereNotThere(t *testing.T) {
	for _, code := range []int{http.StatusNotFound, http.StatusForbidden, http.StatusInternalServerError} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", code) }))
			t.Cleanup(server.Close)
			k, err := newCoscheduling(&rest.Config{Host: server.URL})
			require.NoError(t, err)
			source := cachetesting.NewFakeControllerSource()
			source.Add(served("a"))
			k.definition.Source = source
			w := newWatcher(k)
			before := errorsOf(t, podgroups.Coscheduling)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				w.Run(ctx, func(podgroups.Reference) {})
			}()
			require.Eventually(t, func() bool { return errorsOf(t, podgroups.Coscheduling) > before }, 30*time.Second, time.Millisecond)
			_, known := w.Minimum(reference("gang"))
			assert.False(t, known)
			_, exists, err := w.Ask(ctx, reference("gang"))
			require.NoError(t, err)
			assert.False(t, exists)
			cancel()
			<-done
		})
	}
}

// What is built in is served from when the API server starts, or not. Whether it is costs no request later.
func TestPodGroupsOfKubernetesThatAreNotServedAreNotWatched(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	k, err := newNative(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	before := errorsOf(t, podgroups.Native)
	newWatcher(k).Run(t.Context(), func(podgroups.Reference) {}) // it ends
	assert.Equal(t, before, errorsOf(t, podgroups.Native), "it is no failure")
}

// While API servers are restarted one by one, one that does not serve the kind may answer.
func TestPodGroupsOfKubernetesThatWereServedAreWatchedAgainAfterANotFound(t *testing.T) {
	var lacking atomic.Bool
	var lists atomic.Int32
	restart := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch query := r.URL.Query(); {
		case lacking.Load():
			http.NotFound(w, r)
			if query.Get("watch") == "" {
				lacking.Store(false) // once it was told so of a list
			}
		case query.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusBadRequest) // it lists instead
		case query.Get("watch") != "":
			w.(http.Flusher).Flush()
			select {
			case <-restart:
			case <-r.Context().Done():
			}
		default:
			lists.Add(1)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroupList","metadata":{"resourceVersion":"7"},"items":[
				{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{"namespace":"train","name":"gang"},"spec":{}}]}`)
		}
	}))
	t.Cleanup(server.Close)
	k, err := newNative(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		newWatcher(k).Run(ctx, func(podgroups.Reference) {})
	}()
	require.Eventually(t, func() bool { return k.listed.Load() }, 30*time.Second, 10*time.Millisecond)
	before := lists.Load()
	lacking.Store(true)
	close(restart)
	require.Eventually(t, func() bool { return lists.Load() > before }, 60*time.Second, 10*time.Millisecond, "it lists again")
	cancel()
	<-done
}

func errorsOf(t *testing.T, kind podgroups.Kind) float64 {
	t.Helper()
	count, err := testutil.GetCounterMetricValue(watchErrors.WithLabelValues(string(kind)))
	require.NoError(t, err)
	return count
}

// Pods are labelled ready permanently if their PodGroup does not exist. So it must not be taken for absent because the API server is busy.
func TestAPodGroupIsAbsentOnlyIfTheAPIServerCannotReadTheKind(t *testing.T) {
	broken := apierrors.NewInternalError(assert.AnError)
	busy := apierrors.NewTooManyRequests("busy", 1)
	for name, tc := range map[string]struct {
		err        error
		unreadable bool
		fails      bool
	}{
		"the watch works":                               {err: broken, fails: true},
		"the watch cannot read the kind either":         {err: broken, unreadable: true},
		"the API server is busy":                        {err: busy, unreadable: true, fails: true},
		"the API server does not answer":                {err: assert.AnError, unreadable: true, fails: true},
		"there is no such kind, though the watch works": {err: apierrors.NewNotFound(schema.GroupResource{}, "")},
		"it may not be read any more":                   {err: apierrors.NewForbidden(schema.GroupResource{}, "", assert.AnError)},
	} {
		t.Run(name, func(t *testing.T) {
			resource := schema.GroupVersionResource{Version: "v1", Resource: "podgroups"}
			client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resource: "PodGroupList"})
			client.PrependReactor("list", "podgroups", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
			k := &kind{name: podgroups.Coscheduling, client: client.Resource(resource), changed: func(podgroups.Reference) {}}
			k.unreadable.Store(tc.unreadable)
			_, exists, err := newWatcher(k).Ask(t.Context(), reference("gang"))
			assert.False(t, exists)
			assert.Equal(t, tc.fails, err != nil, "%v", err)
		})
	}
}

func TestAKindIsReadableOnceAListIsComplete(t *testing.T) {
	k := &kind{name: podgroups.Coscheduling, changed: func(podgroups.Reference) {}}
	k.unreadable.Store(true)
	require.NoError(t, groupStore{k}.Replace(nil, "7"))
	assert.False(t, k.unreadable.Load())
}

// A watch that is refused is begun again without a list, so nothing would say that the kind can be read after all.
func TestARefusedWatchDoesNotMakeAKindUnreadable(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch query := r.URL.Query(); {
		case query.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusBadRequest) // it lists instead
		case query.Get("watch") != "":
			http.Error(w, "busy", http.StatusTooManyRequests)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroupList","metadata":{"resourceVersion":"7"},"items":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	k, err := newNative(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	before := errorsOf(t, podgroups.Native)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		newWatcher(k).Run(ctx, func(podgroups.Reference) {})
	}()
	require.Eventually(t, func() bool { return errorsOf(t, podgroups.Native) > before }, 30*time.Second, time.Millisecond)
	assert.False(t, k.unreadable.Load())
	cancel()
	<-done
}
