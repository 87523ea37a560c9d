package podsequence

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	testingclock "k8s.io/utils/clock/testing"

	"example.com/podsequence/pkg/podwriter"
	"example.com/podsequence/pkg/sequence"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/passes"
)

const (
	schedulerName = "podsequence-scheduler"
	sequenceGate  = "podsequence.example.com/sequence-gate"
)

var shop = types.NamespacedName{Namespace: "shop", Name: "shop"}

func newRecorders(client kubernetes.Interface) profile.RecorderFactory {
	return profile.NewRecorderFactory(events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}))
}

// stage is a kube-scheduler with its real queue and profile, as we ship it. Nothing in it runs by itself: the tests put
// pods into its queue and its cache, and tell the engine what the API server would.
type stage struct {
	*testing.T
	*scheduler.Scheduler
	queue    *queue.PriorityQueue
	client   *fake.Clientset
	holder   *holder
	engine   *sequence.Engine
	known    *known
	records  *records
	clock    *testingclock.FakeClock // of explanations
	admitted map[string]int          // how often PreEnqueue was asked, by pod
	// beforeReserve and beforeBind are what happens in a scheduling cycle after a node was chosen.
	beforeReserve, beforeBind func(node string)
	// preBind is what has to be done before a pod is bound; nil if nothing.
	preBind func(ctx context.Context) error
}

// known is a source that knows what it is told to know.
type known struct {
	mu      sync.Mutex
	missing string // why not everything is known
}

func (k *known) Synced() bool { return k.Why() == "" }

func (k *known) Why() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.missing
}

func (k *known) set(missing string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.missing = missing
}

// records is a recorder that notes what is to be recorded.
type records struct {
	mu    sync.Mutex
	asked []types.NamespacedName
	why   string // why nothing can be recorded
}

func (r *records) Record(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, key)
}

func (r *records) Why(types.NamespacedName) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.why
}

func (r *records) fail(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = why
}

// take returns what is to be recorded since it was last taken; nothing while nothing can be recorded.
func (r *records) take() []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why != "" {
		return nil
	}
	asked := r.asked
	r.asked = nil
	return asked
}

// asking counts what the queue asks, and calls a function at a point of the scheduling cycle.
type asking struct {
	*PodSequence
	stage *stage
}

func (a *asking) PreEnqueue(ctx context.Context, pod *v1.Pod) *fwk.Status {
	a.stage.admitted[pod.Name]++
	return a.PodSequence.PreEnqueue(ctx, pod)
}

func (a *asking) Reserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	a.stage.beforeReserve(node)
	return a.PodSequence.Reserve(ctx, state, pod, node)
}

func (a *asking) PreBindPreFlight(context.Context, fwk.CycleState, *v1.Pod, string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	if a.stage.preBind == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return nil, nil
}

func (a *asking) PreBind(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) *fwk.Status {
	if a.stage.preBind == nil {
		return nil
	}
	return fwk.AsStatus(a.stage.preBind(ctx))
}

func (a *asking) Bind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	a.stage.beforeBind(node)
	return a.PodSequence.Bind(ctx, state, pod, node)
}

func newStage(t *testing.T, changes ...func(*config.KubeSchedulerProfile)) *stage {
	t.Helper()
	s := &stage{
		T: t, client: fake.NewClientset(), known: &known{}, records: &records{}, admitted: map[string]int{},
		clock: testingclock.NewFakeClock(time.Now()), beforeReserve: func(string) {}, beforeBind: func(string) {},
	}
	args, err := parseArgs(&runtime.Unknown{Raw: []byte(`{"unprobedReadySeconds": 0}`)})
	require.NoError(t, err)
	informers := scheduler.NewInformerFactory(s.client, 0, nil)
	s.holder = newHolder(args, informers.Core().V1().Pods().Lister(), schedulerName)
	s.engine = s.holder.engine
	options := s.holder.writerOptions()
	options.Clock = s.clock
	s.holder.feed, s.holder.recorder, s.holder.writer = s.known, s.records, podwriter.New(s.client, s.holder.getPod, s.engine, options)
	registry := frameworkruntime.Registry{
		Name: func(_ context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			s.holder.handle = handle
			return &asking{&PodSequence{holder: s.holder, handle: handle}, s}, nil
		},
	}
	profiles := shippedConfig(t).Profiles
	for _, change := range changes {
		change(&profiles[0])
	}
	s.Scheduler, err = scheduler.New(t.Context(), s.client, informers, nil, newRecorders(s.client),
		scheduler.WithFrameworkOutOfTreeRegistry(registry), scheduler.WithProfiles(profiles...))
	require.NoError(t, err)
	s.queue = s.SchedulingQueue.(*queue.PriorityQueue)

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.holder.writer.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return s
}

func pod(name, version string) *st.PodWrapper {
	p := st.MakePod().Namespace("shop").Name(name).UID(name).SchedulerName(schedulerName)
	p.Obj().ResourceVersion = version
	return p
}

// deliver delivers a pod to the scheduler's informer and queue.
func (s *stage) deliver(p *v1.Pod) {
	s.Helper()
	require.NoError(s, s.informer().Add(p))
	s.queue.Add(s.Context(), p)
}

func (s *stage) informer() interface{ Add(any) error } {
	return s.holder.handle.SharedInformerFactory().Core().V1().Pods().Informer().GetIndexer()
}

// act makes the scheduler act on what an event changed in the engine, as the feed does, and then on what is recorded for it.
func (s *stage) act(changes sequence.Changes) {
	s.holder.apply(klog.FromContext(s.Context()), changes)
	s.record()
}

// record records what the recorder was asked for, if it can be.
func (s *stage) record() {
	for _, key := range s.records.take() {
		s.act(passes.Record(s.engine, key))
	}
}

// active are the pods that the scheduler would try to place now.
func (s *stage) active() []string {
	var names []string
	for _, p := range s.queue.PodsInActiveQ() {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

func (s *stage) databaseFirst() {
	s.act(s.engine.ApplySequence(MakeSequence("shop", "shop").UID("shop").Pods("Database", "db").Pods("Application", "app").Obj()))
}

func (s *stage) databaseReady(version string) {
	s.act(s.engine.ApplyPod(pod("db", version).Node("n").Phase(v1.PodSucceeded).Obj()))
}

func TestHeldPodsInTheQueue(t *testing.T) {
	t.Run("a pod that must wait is not in the queue, and is as soon as it may go", func(t *testing.T) {
		s := newStage(t)
		s.databaseFirst()
		s.act(s.engine.ApplyPod(pod("app", "5").Obj()))
		s.deliver(pod("app", "5").Obj())
		s.deliver(pod("free", "6").Obj())
		assert.Equal(t, []string{"free"}, s.active())
		s.databaseReady("7")
		assert.Equal(t, []string{"app", "free"}, s.active())
	})
	t.Run("a pod of PodSequence itself waits for nothing, not even for what is not known", func(t *testing.T) {
		own := func(name string) *v1.Pod {
			return pod(name, "5").Namespace("podsequence-system").Label("app.kubernetes.io/name", "podsequence").Obj()
		}
		s := newStage(t)
		s.deliver(own("without-a-sequence"))
		s.act(s.engine.ApplySequence(MakeSequence("podsequence-system", "all").UID("all").Pods("Database", "db").Label("Rest", "", "").Obj()))
		s.deliver(own("of-a-sequence"))
		s.known.missing = "podsequences cannot be listed: forbidden"
		s.deliver(own("before-everything-is-known"))
		s.deliver(pod("elsewhere", "6").Label("app.kubernetes.io/name", "podsequence").Obj())
		s.deliver(pod("other", "6").Namespace("podsequence-system").Obj())
		assert.Equal(t, []string{"before-everything-is-known", "of-a-sequence", "without-a-sequence"}, s.active())
	})
	t.Run("the scheduler sees a pod before the engine does", func(t *testing.T) {
		s := newStage(t)
		s.databaseFirst()
		s.deliver(pod("app", "5").Obj())
		assert.Empty(t, s.active())
		s.databaseReady("7")
		assert.Empty(t, s.active(), "the engine does not know whom it lets go")
		s.act(s.engine.ApplyPod(pod("app", "5").Obj()))
		assert.Equal(t, []string{"app"}, s.active())
	})
	t.Run("the engine lets a pod go before the scheduler sees it", func(t *testing.T) {
		s := newStage(t)
		s.databaseFirst()
		s.act(s.engine.ApplyPod(pod("app", "5").Obj()))
		s.databaseReady("7")
		s.deliver(pod("app", "5").Obj())
		assert.Equal(t, []string{"app"}, s.active())
	})
	t.Run("a pod that must wait until a pass is recorded is not in the queue, and is as soon as it is", func(t *testing.T) {
		s := newStage(t)
		s.databaseFirst()
		s.act(s.engine.ApplyPod(pod("app", "5").Obj()))
		s.deliver(pod("app", "5").Obj())
		s.records.fail("the server is down")
		s.databaseReady("7")
		assert.Equal(t, []types.NamespacedName{shop}, s.records.asked)
		assert.Empty(t, s.active())
		s.records.fail("")
		s.record()
		assert.Equal(t, []string{"app"}, s.active())
	})
	t.Run("nothing goes before everything is known, and then all that may", func(t *testing.T) {
		s := newStage(t)
		s.known.missing = "the list of pods is not complete"
		s.deliver(pod("free", "5").Obj())
		s.deliver(pod("late", "6").Obj())
		assert.Empty(t, s.active())
		s.engine.ApplyPod(pod("free", "5").Obj())
		s.known.missing = ""
		s.act(s.engine.Everything())
		assert.Equal(t, []string{"free"}, s.active())
		s.act(s.engine.ApplyPod(pod("late", "6").Obj()))
		assert.Equal(t, []string{"free", "late"}, s.active(), "one that the engine came to know only afterwards")
	})
}

func TestWhatHappensToOtherPodsCostsHeldOnesNothing(t *testing.T) {
	s := newStage(t)
	s.databaseFirst()
	s.act(s.engine.ApplyPod(pod("app", "5").Obj()))
	s.deliver(pod("app", "5").Obj())
	require.Equal(t, 1, s.admitted["app"])
	for resource, other := range map[fwk.EventResource]any{
		fwk.AssignedPod: pod("other", "6").Node("n").Obj(), fwk.UnscheduledPod: pod("other", "6").Obj(),
		fwk.Node: st.MakeNode().Name("n").Obj(),
	} {
		for _, action := range []fwk.ActionType{fwk.Add, fwk.Update, fwk.Delete} {
			event := fwk.ClusterEvent{Resource: resource, ActionType: action}
			s.queue.MoveAllToActiveOrBackoffQueue(klog.FromContext(t.Context()), event, other, other, nil)
		}
	}
	assert.Equal(t, 1, s.admitted["app"], "it was asked again")
}

// An informer for a kind of ours, or any event of pods, would come with the registration. The queue compares each event that comes with
// each that is registered, for each held pod.
func TestOneEventIsRegistered(t *testing.T) {
	registered, err := (&PodSequence{}).EventsToRegister(t.Context())
	require.NoError(t, err)
	require.Len(t, registered, 1)
	assert.Equal(t, fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel}, registered[0].Event, "nodes change all the time")
	assert.NotNil(t, registered[0].QueueingHintFn, "a new node is for few")
}

func TestGatesAreLiftedWhenAPodMayGo(t *testing.T) {
	s := newStage(t)
	patched := make(chan struct{})
	s.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		close(patched)
		return true, &v1.Pod{}, nil
	})
	s.databaseFirst()
	gated := pod("app", "5").SchedulingGates([]string{sequenceGate}).Obj()
	s.act(s.engine.ApplyPod(gated))
	s.deliver(gated)
	s.databaseReady("7")
	assert.Empty(t, s.active(), "no pod with gates can be bound")
	select {
	case <-patched:
	case <-time.After(30 * time.Second):
		require.Fail(t, "its gate is not lifted")
	}

	free := pod("app", "8").Obj()
	s.act(s.engine.ApplyPod(free))
	require.NoError(t, s.informer().Add(free))
	s.queue.Update(t.Context(), gated, free)
	assert.Equal(t, []string{"app"}, s.active())
}

// The queue sees that a gate is gone before the engine does, and asks too early.
func TestAPodWhoseGateSomebodyElseLiftsIsQueuedWhenItIsReleased(t *testing.T) {
	s := newStage(t)
	s.databaseFirst()
	gated, free := pod("app", "5").SchedulingGates([]string{sequenceGate}).Obj(), pod("app", "8").Obj()
	s.act(s.engine.ApplyPod(gated))
	s.deliver(gated)
	require.NoError(t, s.informer().Add(free))
	s.queue.Update(t.Context(), gated, free)
	assert.Empty(t, s.active())
	s.databaseReady("7")
	s.act(s.engine.ApplyPod(free))
	assert.Equal(t, []string{"app"}, s.active())
}

// Pods that come out of back-off are not asked about by the queue.
func TestAPodThatMustWaitSinceItWasLetGoIsNotPlaced(t *testing.T) {
	s := newStage(t)
	logger := klog.FromContext(t.Context())
	app := pod("app", "5").Obj()
	s.act(s.engine.ApplyPod(app))
	s.deliver(app)
	popped, err := s.queue.Pop(logger)
	require.NoError(t, err)
	info := popped.(*framework.QueuedPodInfo)
	info.UnschedulablePlugins = sets.New("NodeResourcesFit")
	require.NoError(t, s.queue.AddUnschedulablePodIfNotPresent(logger, info, s.queue.SchedulingCycle()))
	s.queue.Done(app.UID)
	s.queue.MoveAllToActiveOrBackoffQueue(logger, framework.EventUnschedulableTimeout, nil, nil, nil)
	require.Len(t, s.queue.PodsInBackoffQ(), 1)
	asked := s.admitted["app"]

	s.databaseFirst()
	_, err = s.queue.Pop(logger)
	require.NoError(t, err)
	require.Equal(t, asked, s.admitted["app"], "it was asked after all: then nothing is shown")

	_, status, _ := s.Profiles[schedulerName].RunPreFilterPlugins(t.Context(), framework.NewCycleState(), app)
	assert.Equal(t, fwk.UnschedulableAndUnresolvable, status.Code())
	assert.Equal(t, Name, status.Plugin())

	s.databaseReady("7")
	state := framework.NewCycleState()
	_, status, _ = s.Profiles[schedulerName].RunPreFilterPlugins(t.Context(), state, app)
	assert.True(t, status.IsSuccess(), status.Message())
	assert.True(t, state.GetSkipFilterPlugins().Has(Name), "for a pod that may go to any node nothing more is to be asked")
}

func TestAPodOfPodSequenceItselfIsPlacedBeforeAnythingIsKnown(t *testing.T) {
	s := newStage(t)
	s.known.set("nothing is known yet")
	own := pod("podsequence-controller", "5").Namespace("podsequence-system").Label("app.kubernetes.io/name", "podsequence").Obj()
	s.deliver(own)
	require.Equal(t, []string{own.Name}, s.active())
	_, status, _ := s.Profiles[schedulerName].RunPreFilterPlugins(t.Context(), framework.NewCycleState(), own)
	assert.True(t, status.IsSuccess(), status.Message())
}

// The scheduler queues a pod that is to be resized and has to wait for room.
func TestAPodThatHasItsNodeIsNotHeld(t *testing.T) {
	s := newStage(t)
	s.nodes("n1")
	s.addContinuousSequence("driver-n1")
	s.driver("n1", "4", v1.ConditionFalse)
	bound := pod("later", "5").Node("n1").Label("tier", "app").Obj()
	s.act(s.engine.ApplyPod(bound))
	plugin, state := &PodSequence{holder: s.holder}, framework.NewCycleState()
	assert.True(t, plugin.PreEnqueue(t.Context(), bound).IsSuccess())
	_, status := plugin.PreFilter(t.Context(), state, bound, nil)
	assert.True(t, status.IsSkip())
	assert.True(t, plugin.Reserve(t.Context(), state, bound, "n1").IsSuccess())
}
