package podgroup

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/internal/podgroups"
)

// stage is a reconciler whose caches may know less than its API server.
type stage struct {
	*reconciler
	*testing.T
	cache   client.Client
	server  client.Client
	events  *events.FakeRecorder
	refused map[string]error // by pod
	turns   int
	clock   *clocktesting.FakePassiveClock
	again   time.Duration // after the last turn

	lock    sync.Mutex // of what patches come to, several at a time
	patches int
	last    string // patch
	owner   string // of that
}

// asked knows no PodGroups but by asking.
type asked map[podgroups.Reference]int32

func (asked) Minimum(podgroups.Reference) (int32, bool) { return 0, false }

func (a asked) Ask(_ context.Context, group podgroups.Reference) (int32, bool, error) {
	minimum, exists := a[group]
	return minimum, exists, nil
}

func newStage(t *testing.T, cached []client.Object, more ...client.Object) *stage {
	ctx := t.Context()
	indexes := &indexer{fake.NewClientBuilder().WithObjects(cached...).WithScheme(clientgoscheme.Scheme)}
	require.NoError(t, options.indexPods(ctx, indexes))
	for _, kind := range workloadKinds {
		require.NoError(t, options.indexWorkloads(ctx, indexes, kind.object()))
	}
	cache := indexes.Build()

	s := &stage{T: t, clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), events: events.NewFakeRecorder(100), refused: map[string]error{}}
	server := &indexer{fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme)}
	for _, kind := range workloadKinds {
		byName := func(object client.Object) []string { return []string{object.GetName()} }
		require.NoError(t, server.IndexField(ctx, kind.object(), metav1.ObjectNameField, byName))
	}
	for _, object := range append(cached, more...) {
		object = object.DeepCopyObject().(client.Object)
		object.SetResourceVersion("")
		server.WithObjects(object)
	}
	s.cache = cache
	s.server = server.WithInterceptorFuncs(interceptor.Funcs{Patch: func(
		ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption,
	) error {
		content, err := patch.Data(object)
		require.NoError(t, err)
		s.lock.Lock()
		s.patches++
		s.last = string(content)
		applied := &client.PatchOptions{}
		applied.ApplyOptions(options)
		s.owner = applied.FieldManager
		s.lock.Unlock()
		if err := s.refused[object.GetName()]; err != nil {
			return err
		}
		return c.Patch(ctx, object, patch, options...)
	}}).Build()
	s.reconciler = &reconciler{
		options: options, pods: cache, workloads: cache, podGroups: asked{}, live: s.server, labels: newLabeller(options, s.server, cache),
		recorder: s.events, clock: s.clock, memories: map[types.NamespacedName]*memory{},
	}
	return s
}

// indexer makes a builder of fake clients create indexes as a cache does.
type indexer struct{ *fake.ClientBuilder }

func (i *indexer) IndexField(_ context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(object, field, extract)
	return nil
}

// create adds an object to the API server and to the cache.
func (s *stage) create(object client.Object) {
	s.Helper()
	for _, c := range []client.Client{s.cache, s.server} {
		fresh := object.DeepCopyObject().(client.Object)
		fresh.SetResourceVersion("")
		require.NoError(s, c.Create(s.Context(), fresh))
	}
}

// put adds a pod to the API server and to the cache, in place of one with its name. If the name begins with a minus, put only
// removes that pod.
func (s *stage) put(p *corev1.Pod) {
	s.Helper()
	name, remove := strings.CutPrefix(p.Name, "-")
	for _, c := range []client.Client{s.cache, s.server} {
		before := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name}}
		require.NoError(s, client.IgnoreNotFound(c.Delete(s.Context(), before)))
	}
	if !remove {
		s.create(p)
	}
}

// reconcile takes turns until nothing is left to the next.
func (s *stage) reconcile() error {
	for {
		result, err := s.Reconcile(s.Context(), reconcile.Request{NamespacedName: gang})
		s.again = result.RequeueAfter
		if s.turns++; err != nil || result != nextTurn {
			s.write()
			return err
		}
	}
}

// write writes what is to be written, each once.
func (s *stage) write() {
	// What fails comes back after milliseconds, and is not written again: a slow test would find a second try.
	for range s.labels.queue.Len() {
		s.labels.next(s.Context())
	}
}

var gang = types.NamespacedName{Namespace: "train", Name: "gang"}

func (s *stage) isLabelled(name string) bool {
	s.Helper()
	p := &corev1.Pod{}
	require.NoError(s, s.server.Get(s.Context(), types.NamespacedName{Namespace: "train", Name: name}, p))
	return options.isLabelled(p)
}

func job(uid types.UID, parallelism int32) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "train", Name: "job-" + string(uid), UID: uid},
		Spec:       batchv1.JobSpec{Parallelism: &parallelism},
	}
}

func TestWhatTheCachesLackIsAskedForBeforeALabel(t *testing.T) {
	gang := podgroups.Reference{Kind: podgroups.Native, NamespacedName: types.NamespacedName{Namespace: "train", Name: "g"}}
	for name, tc := range map[string]struct {
		pod          *corev1.Pod
		server       []client.Object
		podGroups    asked
		wantLabelled bool
	}{
		"an owner that wants more":                    {pod: pod("a", ownedBy("1")), server: []client.Object{job("1", 2)}},
		"an owner that wants no more":                 {pod: pod("a", ownedBy("1")), server: []client.Object{job("1", 1)}, wantLabelled: true},
		"an owner that is gone: the pod will be, too": {pod: pod("a", ownedBy("1"))},
		"an owner that is gone, with a namesake": {
			pod:    pod("a", ownedBy("1")),
			server: []client.Object{func() client.Object { other := job("1", 2); other.UID = "2"; return other }()},
		},
		"a PodGroup that asks for more":    {pod: pod("a", inNative("g")), podGroups: asked{gang: 2}},
		"a PodGroup that asks for no more": {pod: pod("a", inNative("g")), podGroups: asked{gang: 1}, wantLabelled: true},
		"a PodGroup that there is not":     {pod: pod("a", inNative("g")), wantLabelled: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []client.Object{tc.pod}, tc.server...)
			if tc.podGroups != nil {
				s.podGroups = tc.podGroups
			}
			require.NoError(t, s.reconcile())
			assert.Equal(t, tc.wantLabelled, s.isLabelled("a"))
		})
	}
}

// A Job was deleted and made anew, and its pods are yet to be collected.
func TestPodsWhoseOwnerIsGoneDoNotCount(t *testing.T) {
	old := []podEdit{ownedBy("old"), sized("2"), phase(corev1.PodSucceeded)}
	again := job("new", 2)
	again.Name = "job-old"
	of := []podEdit{ownedBy("new"), sized("2"), func(p *corev1.Pod) { p.OwnerReferences[0].Name = again.Name }}
	s := newStage(t, []client.Object{pod("a", old...), pod("b", old...), pod("c", of...), again})
	require.NoError(t, s.reconcile())
	assert.Zero(t, s.patches)
	s.create(pod("d", of...))
	require.NoError(t, s.reconcile())
	assert.True(t, s.isLabelled("c"))
	assert.True(t, s.isLabelled("d"))
	assert.False(t, s.isLabelled("a"))
}

func TestTheJobsOfAJobSetAreCountedInAllGroups(t *testing.T) {
	worker, driver := jobOfSet("w", 1), jobOfSet("driver", 1)
	worker.Labels["jobset.sigs.k8s.io/replicatedjob-replicas"] = "1"
	worker.Labels["jobset.sigs.k8s.io/global-replicas"] = "2"
	delete(driver.Spec.Template.Labels, DefaultNameLabel)
	s := newStage(t, []client.Object{pod("a", ownedBy("w")), worker})
	require.NoError(t, s.reconcile())
	assert.False(t, s.isLabelled("a"), "the JobSet is yet to create another Job")
	s.create(driver)
	require.NoError(t, s.reconcile())
	assert.True(t, s.isLabelled("a"), "that is not of the group")
}

func TestAPodGroupIsAskedForOnceForAllItsPods(t *testing.T) {
	s := newStage(t, []client.Object{pod("a", inNative("g")), pod("b", inNative("g")), pod("c", inNative("h"))})
	questions := counting{}
	s.podGroups = questions
	require.NoError(t, s.reconcile())
	assert.Equal(t, counting{"g": 1, "h": 1}, questions)
}

// counting counts the questions for each PodGroup, of which there are none.
type counting map[string]int

func (counting) Minimum(podgroups.Reference) (int32, bool) { return 0, false }

func (c counting) Ask(_ context.Context, group podgroups.Reference) (int32, bool, error) {
	c[group.Name]++
	return 0, false, nil
}

func TestAGroupWithoutPodsIsForgotten(t *testing.T) {
	s := newStage(t, nil)
	s.remember(types.NamespacedName{Namespace: "train", Name: "gang"}, 1)
	require.NoError(t, s.reconcile())
	assert.Empty(t, s.memories)
}
