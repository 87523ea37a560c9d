package podgroupwatch

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/component-base/metrics/testutil"

	"example.com/podsequence/pkg/definitions"
	"example.com/podsequence/pkg/podgroups"
	"example.com/podsequence/pkg/reflectors"
)

// stage is a Watcher of one kind, whose API server the test plays.
type stage struct {
	*testing.T
	markers, groups *cachetesting.FakeControllerSource
	watcher         *Watcher
	changes         chan string
}

// play runs a watcher until the end of the test.
func play(t *testing.T) *stage {
	s := &stage{
		T: t, markers: cachetesting.NewFakeControllerSource(), groups: cachetesting.NewFakeControllerSource(),
		changes: make(chan string, 100),
	}
	s.watcher = newWatcher(&kind{
		name: podgroups.Native,
		definition: &definitions.Watcher{
			Reflector: reflectors.Reflector{Source: s.markers, Type: &metav1.PartialObjectMetadata{}},
			IsServed: func(_ context.Context, marker any) bool {
				return marker.(*metav1.PartialObjectMetadata).Annotations["served"] != "no"
			},
		},
		groups: reflectors.Reflector{Source: s.groups, Type: &schedulingv1beta1.PodGroup{}}, minimumOf: minimumBy(podgroups.MinCount),
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

func marker(uid types.UID) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "marker", UID: uid, Annotations: map[string]string{}}}
}

func group(name string, minimum int32) *schedulingv1beta1.PodGroup {
	g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "train", Name: name}}
	g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: minimum}
	return g
}

func reference(name string) podgroups.Reference {
	return podgroups.Reference{Kind: podgroups.Native, NamespacedName: types.NamespacedName{Namespace: "train", Name: name}}
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
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroupList","metadata":{"resourceVersion":"7"},"items":[
{"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup","metadata":{"namespace":"hostile","name":"broken"},"spec":{"minMember":1,"minResources":{"cpu":"1e1.5"}}},
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
	gang := podgroups.Reference{Kind: podgroups.Coscheduling, NamespacedName: types.NamespacedName{Namespace: "train", Name: "gang"}}
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

	s.markers.Add(marker("first"))
	s.expectChange("gang", 4)
	s.groups.Modify(group("gang", 5))
	s.expectChange("gang", 5)
	s.groups.Modify(group("gang", 5)) // which is no change
	s.groups.Add(group("other", 2))
	s.expectChange("other", 2)
	s.groups.Delete(group("other", 2))
	s.expectChange("other", 0)

	s.markers.Delete(marker("first"))
	s.expectChange("gang", 0)
	s.markers.Add(marker("second"))
	s.expectChange("gang", 5)
}

func TestAKindIsOnlyWatchedOnceItIsServed(t *testing.T) {
	s := play(t)
	s.groups.Add(group("gang", 4))
	notYet := marker("first")
	notYet.Annotations["served"] = "no"
	s.markers.Add(notYet)
	s.markers.Modify(marker("first"))
	s.expectChange("gang", 4)
	s.markers.Modify(marker("first")) // its status changes: the watch goes on
	s.groups.Add(group("other", 2))
	s.expectChange("other", 2)
}

func TestARelistIsOneStep(t *testing.T) {
	k := &kind{name: podgroups.Native, minimumOf: minimumBy(podgroups.MinCount), known: map[types.NamespacedName]int32{}}
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
	gang := podgroups.Reference{Kind: podgroups.Coscheduling, NamespacedName: types.NamespacedName{Namespace: "train", Name: "gang"}}
	for _, code := range []int{http.StatusNotFound, http.StatusForbidden, http.StatusInternalServerError} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", code) }))
			t.Cleanup(server.Close)
			k, err := newCoscheduling(&rest.Config{Host: server.URL})
			require.NoError(t, err)
			k.definition = served()
			w := newWatcher(k)
			before := errorsOf(t, podgroups.Coscheduling)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				w.Run(ctx, func(podgroups.Reference) {})
			}()
			require.Eventually(t, func() bool { return errorsOf(t, podgroups.Coscheduling) > before }, 30*time.Second, time.Millisecond)
			_, known := w.Minimum(gang)
			assert.False(t, known)
			_, exists, err := w.Ask(ctx, gang)
			require.NoError(t, err)
			assert.False(t, exists)
			cancel()
			<-done
		})
	}
}

// served is a definition that is there and served.
func served() *definitions.Watcher {
	markers := cachetesting.NewFakeControllerSource()
	markers.Add(marker("served"))
	return &definitions.Watcher{
		Reflector: reflectors.Reflector{Source: markers, Type: &metav1.PartialObjectMetadata{}},
		IsServed:  func(context.Context, any) bool { return true },
	}
}

func errorsOf(t *testing.T, kind podgroups.Kind) float64 {
	t.Helper()
	count, err := testutil.GetCounterMetricValue(watchErrors.WithLabelValues(string(kind)))
	require.NoError(t, err)
	return count
}

func TestAFailureToAskIsOneWhereTheWatchWorks(t *testing.T) {
	k := &kind{name: podgroups.Native, minimumOf: minimumBy(podgroups.MinCount), changed: func(podgroups.Reference) {}}
	k.list = func(context.Context, string, metav1.ListOptions) (runtime.Object, error) { return nil, assert.AnError }
	w := newWatcher(k)
	_, _, err := w.Ask(t.Context(), reference("gang"))
	require.ErrorIs(t, err, assert.AnError)
	k.unreadable.Store(true)
	_, _, err = w.Ask(t.Context(), reference("gang"))
	require.NoError(t, err)
	require.NoError(t, groupStore{k}.Replace(nil, "7"))
	_, _, err = w.Ask(t.Context(), reference("gang"))
	require.ErrorIs(t, err, assert.AnError)
}
