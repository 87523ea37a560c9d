package feed

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/definitions"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	. "example.com/podsequence/test/harness/builders"
)

// Watches are late, break and begin anew, while PodSequences come and go in all namespaces and some are allowed and refused
// elsewhere. No pod may be scheduled that a PodSequence from before the pod holds: how far that is says an engine that gets
// everything at once. And when all is quiet, no pod waits that an engine which starts now would release.
func TestWatchesThatAreLateReleaseNothingEarly(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(seeds(t)) {
		if only := os.Getenv("PODSEQUENCE_FEED_SEED"); only != "" && only != strconv.FormatUint(seed, 10) {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			w := newRandomWorld(t, seed, seen)
			for range 150 {
				w.step()
			}
			w.quiet()
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Log(seen)
	for _, what := range []string{
		"scheduled", "scheduled in a later group", "gaps", "scheduled in a later group across namespaces", "recorded", "not recorded yet",
	} {
		if seen[what] == 0 {
			t.Errorf("nothing was %s: these worlds show nothing", what)
		}
	}
}

// seeds is how many worlds there are, each with 150 steps.
func seeds(t *testing.T) int {
	text := os.Getenv("PODSEQUENCE_FEED_WORLDS")
	if text == "" {
		return 60
	}
	count, err := strconv.Atoi(text)
	require.NoError(t, err)
	return count
}

var (
	someNamespaces = []string{"a", "b", "c"}
	tiers          = []string{"db", "app"} // the groups of every PodSequence
)

// randomWorld is an API server, a feed of it, and an engine that gets everything at once.
type randomWorld struct {
	*testing.T
	*rand.Rand
	seed   uint64
	server *apiServer
	feed   *Feed
	truth  *sequence.Engine
	seen   map[string]int
	log    []string

	count      int
	pods       map[string]*corev1.Pod
	jobs       map[string]*batchv1.Job
	namespaces map[string]*corev1.Namespace
	sequences  map[string]*v1alpha1.PodSequence
	clusters   map[string]*v1alpha1.ClusterPodSequence
	selected   map[string]int                        // since which version each ClusterPodSequence has its present members in each namespace, by name/namespace
	earlier    map[string][]v1alpha1.ClusterPodGroup // the databases that each ClusterPodSequence had before edits
	reverted   map[string]bool                       // those that have had the same databases twice, and others in between
	allowed    map[string]int                        // since which version each PodSequence counts
	withdrawn  map[string]bool                       // those that were once allowed and then refused
	created    map[string]int                        // the versions in which pods were created, if the feed knew all sequences and namespaces then
	asked      sets.Set[types.NamespacedName]        // the sequences of which the feed's engine asked to record passes
	ripe       sets.Set[string]                      // the passes that the truth has come to, by UID and hash
}

func newRandomWorld(t *testing.T, seed uint64, seen map[string]int) *randomWorld {
	w := &randomWorld{
		T: t, Rand: rand.New(rand.NewPCG(seed, 7)), seed: seed, seen: seen,
		truth: sequence.NewEngine(ours()), pods: map[string]*corev1.Pod{}, jobs: map[string]*batchv1.Job{},
		namespaces: map[string]*corev1.Namespace{}, sequences: map[string]*v1alpha1.PodSequence{},
		clusters: map[string]*v1alpha1.ClusterPodSequence{}, selected: map[string]int{},
		earlier: map[string][]v1alpha1.ClusterPodGroup{}, reverted: map[string]bool{},
		allowed: map[string]int{}, withdrawn: map[string]bool{}, created: map[string]int{}, ripe: sets.Set[string]{}, asked: sets.Set[types.NamespacedName]{},
	}
	w.server = newAPIServer(seed)
	for _, name := range someNamespaces {
		w.namespaces[name] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		w.write(watch.Added, "namespaces", w.namespaces[name])
	}
	for range w.IntN(20) {
		w.change()
	}
	w.server.installKinds()
	w.feed = feedOf(w.server)
	w.feed.sink = func(changes sequence.Changes) {
		w.asked.Insert(changes.Ripe...)
	}
	done := make(chan struct{})
	quiet := klog.NewContext(t.Context(), logr.Discard())
	go func() { defer close(done); w.feed.Run(quiet) }()
	t.Cleanup(func() { <-done })
	return w
}

// sequenceResources are those of PodSequences and of ClusterPodSequences.
var sequenceResources = []schema.GroupVersionResource{v1alpha1.PodSequenceResource, v1alpha1.ClusterPodSequenceResource}

func ours() sequence.Config {
	return sequence.Config{SchedulerNames: []string{"ours"}, InstallationNamespace: "podsequence-system"}
}

// feedOf is a feed of pods, Jobs, Namespaces and PodSequences.
func feedOf(server *apiServer) *Feed {
	engine := sequence.NewEngine(ours())
	f := &Feed{
		engine: engine, clock: clock.RealClock{}, timer: clock.RealClock{}.NewTimer(math.MaxInt64), sink: func(sequence.Changes) {},
	}
	f.newestOf = func(_ context.Context, resource schema.GroupVersionResource, _ metav1.ListOptions) (string, error) {
		return server.kind(resource.Resource).newest()
	}
	pods, jobs := newObjectStore(f, engine.ApplyPod, engine.RemovePod, engine.ReplacePods), f.workloads(inventory.KindJob)
	namespaces := newObjectStore(f, engine.ApplyNamespace, engine.RemoveNamespace, engine.ReplaceNamespaces)
	f.world = []watchedKind{
		{resource: corev1.SchemeGroupVersion.WithResource("pods"), source: source{server.kind("pods")}, object: &corev1.Pod{}, store: pods},
		{resource: batchv1.SchemeGroupVersion.WithResource("jobs"), source: source{server.kind("jobs")}, object: &batchv1.Job{}, store: jobs},
		{resource: corev1.SchemeGroupVersion.WithResource("namespaces"), source: source{server.kind("namespaces")}, object: &corev1.Namespace{}, store: namespaces},
	}
	f.namespaces = &position{resource: "namespaces"}
	namespaces.position = f.namespaces
	for i, resource := range sequenceResources {
		name := resource.Resource
		kind := &sequenceKind{
			cluster: i == 1, resource: resource, watch: &position{resource: name},
			definition: definitions.NewWithSource(resource.GroupResource(), source{server.kind("definition of " + name)}),
			source:     source{server.kind(name)},
		}
		f.sequences[i] = kind
	}
	f.setState("has not begun to watch")
	return f
}

func (w *randomWorld) pick(of []string) string { return of[w.IntN(len(of))] }

// write stores an object, and tells the truth of it.
func (w *randomWorld) write(event watch.EventType, kind string, stored object) {
	w.server.kind(kind).write(event, stored)
	w.log = append(w.log, fmt.Sprintf("%s %s %s %s/%s", stored.GetResourceVersion(), strings.ToLower(string(event)), kind, stored.GetNamespace(), stored.GetName()))
	gone := event == watch.Deleted
	switch o := stored.DeepCopyObject().(type) {
	case *corev1.Pod:
		if gone {
			w.tell(w.truth.RemovePod(o))
		} else {
			w.tell(w.truth.ApplyPod(o))
		}
	case *batchv1.Job:
		if gone {
			w.tell(w.truth.RemoveWorkload(o))
		} else {
			w.tell(w.truth.ApplyWorkload(o))
		}
	case *corev1.Namespace:
		w.tell(w.truth.ApplyNamespace(o))
	case *unstructured.Unstructured:
		ps := order.Read(o.Object)
		if o.GetNamespace() == "" {
			ps = order.ReadCluster(o.Object)
		}
		if gone {
			w.tell(w.truth.RemoveSequence(keyOf(o), o.GetResourceVersion()))
		} else {
			w.tell(w.truth.ApplySequences([]order.Stored{ps}))
		}
	}
}

// tell notes what the truth would pass.
func (w *randomWorld) tell(changes sequence.Changes) {
	for _, key := range changes.Ripe {
		if ripe, ok := w.truth.Ripe(key); ok {
			for hash := range ripe.Passes {
				w.ripe.Insert(string(ripe.UID) + "/" + hash)
			}
		}
	}
}

func (w *randomWorld) writeSequence(event watch.EventType, ps *v1alpha1.PodSequence) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ps)
	if err != nil {
		w.Fatal(err)
	}
	stored := &unstructured.Unstructured{Object: content}
	w.write(event, "podsequences", stored)
	ps.ResourceVersion = stored.GetResourceVersion()
}

// change changes something in the cluster.
func (w *randomWorld) change() {
	w.count++
	name, namespace := fmt.Sprint("x", w.count), w.pick(someNamespaces)
	if w.IntN(8) == 0 {
		w.changeAcross(name, namespace)
		return
	}
	switch w.IntN(14) {
	case 0, 1, 2:
		w.createPod(namespace, name)
	case 3, 4, 12, 13:
		w.changePod()
	case 5:
		if pod := anyOf(w, w.pods); pod != nil {
			w.write(watch.Deleted, "pods", pod)
			delete(w.pods, pod.Name)
		}
	case 6:
		if w.IntN(3) == 0 {
			w.createJob(namespace, name)
		}
	case 7:
		if job := anyOf(w, w.jobs); job != nil {
			w.completeOrDelete(job)
		}
	case 8, 9:
		if len(w.sequences) < 4 {
			w.createSequence(namespace, name)
		}
	case 10:
		if w.IntN(2) == 0 {
			return
		}
		if ps := anyOf(w, w.sequences); ps != nil {
			w.writeSequence(watch.Deleted, ps)
			delete(w.sequences, ps.Name)
		}
	case 11:
		w.changeConsent(w.namespaces[namespace])
	}
}

// anyOf is one of those that there are, nil if there is none.
func anyOf[V any](w *randomWorld, all map[string]*V) *V {
	if len(all) == 0 {
		return nil
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return all[names[w.IntN(len(names))]]
}

func (w *randomWorld) createPod(namespace, name string) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), Labels: map[string]string{"tier": w.pick(tiers)}},
		Spec:       corev1.PodSpec{SchedulerName: "ours"},
	}
	if job := anyOf(w, w.jobs); job != nil && job.Namespace == namespace {
		pod.Labels = job.Spec.Template.Labels
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: ptr.To(true)}}
	}
	if pod.Labels["tier"] == "db" && w.IntN(3) > 0 { // so that something turns ready before the watch of pods says so
		pod.Spec.NodeName, pod.Status.Conditions = "node", []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	w.pods[name] = pod
	w.write(watch.Added, "pods", pod)
	if w.created[name] = w.server.version; w.isLate("podsequences", "clusterpodsequences", "namespaces") {
		w.created[name] = 0 // it may start before a sequence that nobody has seen yet
	}
}

func (w *randomWorld) changePod() {
	pod := anyOf(w, w.pods)
	switch {
	case pod == nil:
		return
	case pod.Spec.NodeName == "":
		pod.Annotations = map[string]string{"touched": fmt.Sprint(w.count)}
	case w.IntN(4) == 0:
		pod.Status.Phase = corev1.PodSucceeded
	default:
		status := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse}[w.IntN(3)]
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	}
	w.write(watch.Modified, "pods", pod)
}

func (w *randomWorld) createJob(namespace, name string) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
	job.Spec.Parallelism, job.Spec.Completions = ptr.To(int32(1+w.IntN(2))), ptr.To(int32(2))
	job.Spec.Template.Labels = map[string]string{"tier": "db"}
	w.jobs[name] = job
	w.write(watch.Added, "jobs", job)
}

func (w *randomWorld) completeOrDelete(job *batchv1.Job) {
	if w.IntN(2) == 0 {
		delete(w.jobs, job.Name)
		w.write(watch.Deleted, "jobs", job)
		return
	}
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	w.write(watch.Modified, "jobs", job)
}

func (w *randomWorld) createSequence(namespace, name string) {
	ps := MakeSequence(namespace, name).UID(name).Label("Database", "tier", "db").Label("Application", "tier", "app").Obj()
	if w.IntN(2) == 0 {
		ps.Spec.Namespace = w.pick(someNamespaces)
	}
	w.sequences[name] = ps
	w.writeSequence(watch.Added, ps)
	w.allow()
}

func (w *randomWorld) changeConsent(namespace *corev1.Namespace) {
	if w.IntN(2) == 0 {
		namespace.Labels = map[string]string{"team": w.pick([]string{"red", "blue"})}
	}
	namespace.Annotations = map[string]string{v1alpha1.AllowSequencesFromAnnotation: w.pick([]string{"", "a,b", "*", "c"})}
	w.write(watch.Modified, "namespaces", namespace)
	w.allow()
	w.selectNamespaces()
}

// allow notes since when PodSequences count.
func (w *randomWorld) allow() {
	for name, ps := range w.sequences {
		target := w.namespaces[targetOf(ps)]
		if target.Name != ps.Namespace && !allows(target.Annotations[v1alpha1.AllowSequencesFromAnnotation], ps.Namespace) {
			if w.allowed[name] > 0 {
				w.withdrawn[name] = true
			}
			delete(w.allowed, name)
		} else if w.allowed[name] == 0 {
			w.allowed[name] = w.server.version
		}
	}
}

// targetOf is the namespace of which a PodSequence speaks.
func targetOf(ps *v1alpha1.PodSequence) string { return cmp.Or(ps.Spec.Namespace, ps.Namespace) }

// allows reports whether a namespace that has this list allows PodSequences of another one.
func allows(list, namespace string) bool {
	return list == "*" || slices.Contains(strings.Split(list, ","), namespace)
}
