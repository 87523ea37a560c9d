package bench

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	namespace    = metav1.NamespaceDefault
	ourScheduler = controlplane.PodSequenceScheduler
	ourProgram   = controlplane.PodSequenceController
	// patience is how long a measurement may take.
	patience = 15 * time.Minute
	// manyAtATime is how many requests the benchmark makes at a time.
	manyAtATime = 16
	// nativeGate is a gate that none of our programs knows.
	nativeGate = "example.com/gate"
	// tierLabel says of a pod who waits for whom: those of tier many wait for those of tier first.
	tierLabel = "tier"
	tierFirst = "first"
	tierMany  = "many"
)

// site is a cluster without anything that the variant does not need: neither a controller-manager nor simulated kubelets, which
// would take part of the processors when they get round to it.
type site struct {
	*cluster.Cluster
	b    *testing.B
	ctx  context.Context
	core kubernetes.Interface
}

// newSite starts a cluster with so many nodes and these programs beside etcd and the API server. The caller closes it.
func newSite(b *testing.B, nodes int, options controlplane.Options, programs ...string) *site {
	b.Helper()
	options.Nodes = nodes
	options.Components = append([]string{controlplane.Etcd, controlplane.APIServer}, programs...)
	// Nobody makes nodes ready: they take pods as they are.
	options.ExtraArgs = maps.Clone(options.ExtraArgs)
	if options.ExtraArgs == nil {
		options.ExtraArgs = map[string][]string{}
	}
	options.ExtraArgs[controlplane.APIServer] = []string{"--disable-admission-plugins=TaintNodesByCondition"}
	c, err := cluster.Start(b.Context(), options)
	require.NoError(b, err)
	s := &site{Cluster: c, b: b, ctx: b.Context()}
	s.core = s.clientOf("bench")
	s.createAccount(namespace)
	return s
}

// createAccount does what the controller-manager does in every namespace if it is there, and admission of pods asks for.
func (s *site) createAccount(namespace string) {
	s.b.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	require.NoError(s.b, client.IgnoreAlreadyExists(s.API.Create(s.ctx, account)))
}

// close stops the cluster. Its logs stay if the benchmark has failed.
func (s *site) close() {
	s.b.Helper()
	require.NoError(s.b, s.StopAndClean(!s.b.Failed()))
}

// clientOf returns a client without limits of its own that the audit log knows by this name.
func (s *site) clientOf(userAgent string) kubernetes.Interface {
	s.b.Helper()
	config := rest.CopyConfig(s.Config())
	config.UserAgent = userAgent
	core, err := kubernetes.NewForConfig(config)
	require.NoError(s.b, err)
	return core
}

func (s *site) create(objects ...client.Object) {
	s.b.Helper()
	for _, object := range objects {
		require.NoError(s.b, s.API.Create(s.ctx, object))
	}
}

// createMany creates so many pods, many at a time.
func (s *site) createMany(count int, pod func(i int) *st.PodWrapper) {
	s.b.Helper()
	s.atOnce(count, func(i int) error {
		one := pod(i).Obj()
		_, err := s.core.CoreV1().Pods(one.Namespace).Create(s.ctx, one, metav1.CreateOptions{})
		return err
	})
}

// atOnce does something so many times, many at a time.
func (s *site) atOnce(count int, do func(i int) error) {
	s.b.Helper()
	var doing errgroup.Group
	doing.SetLimit(manyAtATime)
	for i := range count {
		doing.Go(func() error { return do(i) })
	}
	require.NoError(s.b, doing.Wait())
}

// await waits for what must happen, and looks seldom where that asks the API server.
func (s *site) await(what string, happened func() bool) {
	s.b.Helper()
	cluster.AwaitWithin(s.b, patience, what, happened)
}

func (s *site) awaitBound(name string) {
	s.b.Helper()
	s.await(name+" to be bound", func() bool {
		pod, err := s.core.CoreV1().Pods(namespace).Get(s.ctx, name, metav1.GetOptions{})
		require.NoError(s.b, err)
		return pod.Spec.NodeName != ""
	})
}

// awaitHeld waits until each of our programs among these holds so many pods.
func (s *site) awaitHeld(count int, programs []string) {
	s.b.Helper()
	for _, program := range programs {
		if program != ourScheduler && program != ourProgram {
			continue
		}
		s.await(fmt.Sprintf("%s to hold %d pods", program, count), func() bool {
			return s.Metric(s.b, program, "podsequence_held_pods") == float64(count)
		})
	}
}

// setReady does what the kubelet does when a pod turns ready, and returns the time at which it was written.
func (s *site) setReady(name string) time.Time {
	s.b.Helper()
	written, err := s.writeReady(name)
	require.NoError(s.b, err)
	return written
}

// writeReady is setReady for goroutines.
func (s *site) writeReady(name string) (time.Time, error) {
	return s.writeReadiness(namespace, name, corev1.ConditionTrue)
}

func (s *site) writeReadiness(namespace, name string, ready corev1.ConditionStatus) (time.Time, error) {
	patch := fmt.Sprintf(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q,"lastTransitionTime":%q}]}}`,
		ready, time.Now().UTC().Format(time.RFC3339))
	_, err := s.core.CoreV1().Pods(namespace).Patch(s.ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return time.Now(), err
}

// pod begins a pod of one of the schedulers.
func pod(name, scheduler string) *st.PodWrapper {
	return st.MakePod().Namespace(namespace).Name(name).SchedulerName(scheduler).Container("example.com/app").TerminationGracePeriodSeconds(0)
}

// firstAndMany is a sequence in which the pods of tier many wait for the pod "first".
func firstAndMany(name string) *v1alpha1.PodSequence {
	return &v1alpha1.PodSequence{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.PodSequenceSpec{PodGroups: []v1alpha1.PodGroup{
			{Name: "first", Pods: []string{"first"}}, {Name: "many", PodSelector: tier(tierMany)},
		}},
	}
}

func tier(name string) *v1alpha1.LabelSelector {
	return &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{tierLabel: v1alpha1.LabelValue(name)}}
}

// bindings notes when pods were seen to be bound, and to be ready.
type bindings struct {
	lock sync.Mutex
	// at is keyed by names and by UIDs, ready by names.
	at, ready map[string]time.Time
}

// watchBindings sees all pods that are bound from now on, and takes those that are bound already as bound now.
func (s *site) watchBindings() *bindings {
	s.b.Helper()
	return s.watchBindingsIn(namespace)
}

func (s *site) watchBindingsIn(namespace string) *bindings {
	s.b.Helper()
	seen := &bindings{at: map[string]time.Time{}, ready: map[string]time.Time{}}
	ctx, stop := context.WithCancel(s.ctx)
	s.AtStop(func() error { stop(); return nil })
	factory := informers.NewSharedInformerFactoryWithOptions(s.core, 0, informers.WithNamespace(namespace))
	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: seen.see, UpdateFunc: func(_, object any) { seen.see(object) }})
	require.NoError(s.b, err)
	factory.StartWithContext(ctx)
	require.True(s.b, cache.WaitForCacheSync(ctx.Done(), pods.HasSynced))
	return seen
}

// watchEventsIn sees all pods of which an event says from now on that they were bound.
func (s *site) watchEventsIn(namespace string) *bindings {
	s.b.Helper()
	seen := &bindings{at: map[string]time.Time{}}
	ctx, stop := context.WithCancel(s.ctx)
	s.AtStop(func() error { stop(); return nil })
	factory := informers.NewSharedInformerFactoryWithOptions(s.core, 0, informers.WithNamespace(namespace))
	events := factory.Events().V1().Events().Informer()
	_, err := events.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		if event := object.(*eventsv1.Event); event.Reason == "Scheduled" {
			seen.note(string(event.Regarding.UID), event.Regarding.Name)
		}
	}})
	require.NoError(s.b, err)
	factory.StartWithContext(ctx)
	require.True(s.b, cache.WaitForCacheSync(ctx.Done(), events.HasSynced))
	return seen
}

func (w *bindings) see(object any) {
	pod := object.(*corev1.Pod)
	if pod.Spec.NodeName != "" {
		w.note(string(pod.UID), pod.Name)
	}
	if podutil.IsPodReady(pod) {
		w.noteReady(pod.Name)
	}
}

func (w *bindings) noteReady(name string) {
	now := time.Now()
	w.lock.Lock()
	defer w.lock.Unlock()
	if _, known := w.ready[name]; !known {
		w.ready[name] = now
	}
}

func (w *bindings) note(uid, name string) {
	now := time.Now()
	w.lock.Lock()
	defer w.lock.Unlock()
	if _, known := w.at[uid]; !known {
		w.at[uid] = now
		w.at[name] = now
	}
}

// of returns when the pod of this name, or UID, was seen to be bound.
func (w *bindings) of(name string) (time.Time, bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	at, bound := w.at[name]
	return at, bound
}

// sinceReady returns the milliseconds from the first pod's Ready to the binding of the next, both as this watch saw them: the answer to the write of Ready may
// come after the binding.
func (w *bindings) sinceReady(first string, bound time.Time) float64 {
	w.lock.Lock()
	defer w.lock.Unlock()
	return float64(bound.Sub(w.ready[first])) / float64(time.Millisecond)
}

// count returns how many pods with names that begin so were seen to be bound.
func (w *bindings) count(prefix string) (count int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for name := range w.at {
		if strings.HasPrefix(name, prefix+"-") {
			count++
		}
	}
	return count
}

// awaitAll returns when each of the pods was seen to be bound.
func (s *site) awaitAll(w *bindings, names []string) []time.Time {
	s.b.Helper()
	times := make([]time.Time, len(names))
	next := 0
	s.await(fmt.Sprintf("%d pods to be bound", len(names)), func() bool {
		for ; next < len(names); next++ {
			at, bound := w.of(names[next])
			if !bound {
				return false
			}
			times[next] = at
		}
		return true
	})
	return times
}

// numbered is a name with a number.
func numbered(prefix string, i int) string { return fmt.Sprintf("%s-%d", prefix, i) }

// names are those of so many pods, or nodes.
func names(prefix string, count int) []string {
	all := make([]string, count)
	for i := range all {
		all[i] = numbered(prefix, i)
	}
	return all
}

// milliseconds between two times; 0 if a watch was faster than the answer to what came before.
func milliseconds(from, to time.Time) float64 {
	return max(0, float64(to.Sub(from).Microseconds())/1000)
}
