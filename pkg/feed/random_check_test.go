package feed

import (
	"maps"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
)

// step changes some objects, lets some watches deliver part of their events or break, lets time pass, and checks which pods would
// be scheduled.
func (w *randomWorld) step() {
	for range w.IntN(4) {
		w.change()
	}
	for _, name := range []string{"definition of podsequences", "namespaces", "pods", "jobs", "podsequences", "clusterpodsequences", "definition of clusterpodsequences"} {
		kind := w.server.kind(name)
		switch roll := w.IntN(40); {
		case roll == 0:
			kind.breakWatch()
			w.log = append(w.log, "gap "+name)
			w.seen["gaps"]++
		case roll == 1 && !isDefinition(name):
			w.fail(kind, true)
		case kind.broken && roll < 10:
			w.fail(kind, false)
		case roll < 25:
			kind.deliver(w.IntN(8))
		case roll < 28 && !isDefinition(name):
			kind.bookmark(emptyOf(name))
		}
		if w.IntN(10) == 0 {
			synctest.Wait()
		}
	}
	switch w.IntN(30) {
	case 0:
		time.Sleep(2 * time.Minute)
	case 1, 2, 3:
		time.Sleep(time.Second)
	default:
		time.Sleep(time.Duration(w.IntN(30)) * time.Millisecond)
	}
	synctest.Wait()
	if w.IntN(2) == 0 {
		w.record()
	}
	for _, name := range slices.Sorted(keysOf(w.pods)) {
		if pod := w.pods[name]; pod.Spec.NodeName == "" && w.mayBeScheduled(pod) {
			w.schedule(pod)
		}
	}
}

func isDefinition(kind string) bool { return strings.HasPrefix(kind, "definition of ") }

// emptyOf is an empty object of a kind, as in a bookmark.
func emptyOf(kind string) object {
	switch kind {
	case "pods":
		return &corev1.Pod{}
	case "jobs":
		return &batchv1.Job{}
	case "namespaces":
		return &corev1.Namespace{}
	}
	return &unstructured.Unstructured{Object: map[string]any{}}
}

func (w *randomWorld) fail(kind *storedKind, broken bool) {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	kind.broken = broken
}

func keysOf[V any](all map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range all {
			if !yield(name) {
				return
			}
		}
	}
}

// mayBeScheduled answers as the plugin does.
func (w *randomWorld) mayBeScheduled(pod *corev1.Pod) bool {
	if !w.feed.Synced() {
		return false
	}
	return !w.feed.engine.Verdict(pod.DeepCopy()).Held
}

// isLate reports whether the feed has not seen all of some kinds.
func (w *randomWorld) isLate(kinds ...string) bool {
	if w.feed == nil || !w.feed.Synced() {
		return true
	}
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	for _, name := range kinds {
		kind := w.server.kind(name)
		seen := 0
		if n := len(kind.watches); n > 0 {
			seen = kind.watches[n-1].version
		}
		if len(kind.log) > 0 && kind.log[len(kind.log)-1].version > seen {
			return true
		}
	}
	return false
}

// record does what the recorder does: it looks at what there is, and writes the passes if the engine still says so.
func (w *randomWorld) record() {
	w.feed.deliver.Lock()
	asked := w.asked
	w.asked = sets.Set[types.NamespacedName]{}
	w.feed.deliver.Unlock()
	for key := range asked {
		ripe, ok := w.feed.engine.Ripe(key)
		if !ok {
			continue
		}
		looked := sequence.Looked{}
		for _, workload := range ripe.Workloads {
			if job := w.jobs[workload.Name]; job != nil && job.Namespace == workload.Namespace {
				looked.Workloads = append(looked.Workloads, job.DeepCopy())
			}
		}
		for _, pod := range w.pods {
			if slices.Contains(ripe.PodNamespaces, pod.Namespace) {
				looked.Pods = append(looked.Pods, metav1.PartialObjectMetadata{ObjectMeta: *pod.ObjectMeta.DeepCopy()})
			}
		}
		if !w.feed.engine.Agrees(ripe, looked) || !w.writePasses(ripe) {
			w.seen["not recorded yet"]++
			w.feed.deliver.Lock()
			w.asked.Insert(key)
			w.feed.deliver.Unlock()
			continue
		}
		w.seen["recorded"]++
		for hash := range ripe.Passes {
			if !w.ripe.Has(string(ripe.UID)+"/"+hash) && !w.mayMissWorkloads() {
				w.Fatalf("seed %d: a pass of %s is recorded that never was\n%s", w.seed, key, w.history())
			}
		}
	}
}

// mayMissWorkloads reports whether there is a Job of which nobody has told the feed: one that is created in the moment in which all others
// become ready may be missed.
func (w *randomWorld) mayMissWorkloads() bool { return w.isLate("jobs", "namespaces") }

// writePasses writes passes, if the sequence is still what the engine knows.
func (w *randomWorld) writePasses(ripe sequence.Ripe) bool {
	if ripe.Key.Namespace == "" {
		cluster := w.clusters[ripe.Key.Name]
		if cluster == nil || cluster.UID != ripe.UID || cluster.ResourceVersion != ripe.ResourceVersion {
			return false
		}
		addPasses(&cluster.Status, ripe)
		w.storeCluster(watch.Modified, cluster)
		return true
	}
	ps := w.sequences[ripe.Key.Name]
	if ps == nil || ps.UID != ripe.UID || ps.ResourceVersion != ripe.ResourceVersion {
		return false
	}
	addPasses(&ps.Status, ripe)
	w.writeSequence(watch.Modified, ps)
	return true
}

func addPasses(status *v1alpha1.PodSequenceStatus, ripe sequence.Ripe) {
	if status.Passes == nil {
		status.Passes = map[string]v1alpha1.GroupPass{}
	}
	maps.Copy(status.Passes, ripe.Passes)
}

// schedule binds a pod, after a look whether it may be.
func (w *randomWorld) schedule(pod *corev1.Pod) {
	w.seen["scheduled"]++
	for name, ps := range w.sequences {
		since := w.allowed[name]
		if w.withdrawn[name] {
			continue // the feed may see no more of that than that it is allowed, and then nobody asks whether it always was
		}
		if targetOf(ps) != pod.Namespace || since == 0 || since > w.created[pod.Name] || pod.Labels["tier"] == "db" {
			continue
		}
		report, known := w.truth.Report(types.NamespacedName{Namespace: ps.Namespace, Name: name})
		if w.seen["scheduled in a later group"]++; !known || report.Current < 1 {
			w.Fatalf("seed %d: pod %s/%s is scheduled before its turn in PodSequence %s/%s\n%s", w.seed, pod.Namespace, pod.Name, ps.Namespace, name, w.history())
		}
	}
	w.checkClusters(pod)
	if w.IntN(2) == 0 {
		pod.Spec.NodeName = "node"
		w.write(watch.Modified, "pods", pod)
	}
}

func (w *randomWorld) history() string {
	text := ""
	for _, line := range w.log {
		text += line + "\n"
	}
	return text
}

// quiet lets the watches deliver everything, and checks what the engine knows.
func (w *randomWorld) quiet() {
	for range 20 {
		for _, kind := range w.server.kinds {
			w.fail(kind, false)
			for kind.deliver(1000) {
				synctest.Wait()
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		w.record()
	}
	if !w.feed.Synced() {
		w.Fatalf("seed %d: not everything is known: %s\n%s", w.seed, w.feed.Why(), w.history())
	}
	w.compareReleases()
}

// compareReleases checks that every pod is scheduled that an engine which starts now would release.
func (w *randomWorld) compareReleases() {
	fresh := &randomWorld{truth: sequence.NewEngine(ours()), ripe: sets.Set[string]{}}
	for _, namespace := range w.namespaces {
		fresh.tell(fresh.truth.ApplyNamespace(namespace))
	}
	for _, job := range w.jobs {
		fresh.tell(fresh.truth.ApplyWorkload(job))
	}
	for _, pod := range w.pods {
		fresh.tell(fresh.truth.ApplyPod(pod.DeepCopy()))
	}
	for _, ps := range w.sequences {
		fresh.tell(fresh.truth.ApplySequence(ps))
	}
	w.tellClusters(fresh)
	for _, pod := range w.pods {
		if pod.Spec.NodeName != "" || fresh.truth.Decide(pod).Held {
			continue
		}
		for range 10 {
			if w.mayBeScheduled(pod) {
				break
			}
			time.Sleep(time.Second)
		}
		if !w.mayBeScheduled(pod) {
			w.Fatalf("seed %d: pod %s/%s waits for nothing: %s\n%s", w.seed, pod.Namespace, pod.Name, w.feed.engine.Decide(pod).Message(), w.history())
		}
	}
}
