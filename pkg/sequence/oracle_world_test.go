package sequence

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// theme says what a world has, as weights of what happens in it.
type theme struct {
	pods, workloads, nodes, sequences, time int
	// nodeScope is how many of ten sequences have scope Node.
	nodeScope int
	// waits gives groups waits and time-outs.
	waits bool
	// namespaces is how often namespaces come, go, or change their labels; 0 for worlds with one namespace of pods and without
	// ClusterPodSequences. near has no PodSequence that needs consent.
	namespaces int
	near       bool
}

var (
	podsOnly           = theme{pods: 20, sequences: 3, time: 1}
	workloadsInCluster = theme{pods: 14, workloads: 12, sequences: 2, time: 1}
	nodesOnly          = theme{pods: 14, workloads: 5, nodes: 4, sequences: 2, time: 1, nodeScope: 9}
	overTime           = theme{pods: 14, workloads: 4, nodes: 1, sequences: 2, time: 10, nodeScope: 3, waits: true}
	acrossNamespaces   = theme{pods: 14, workloads: 12, sequences: 3, time: 1, namespaces: 2, near: true}
	everything         = theme{pods: 14, workloads: 8, nodes: 2, sequences: 2, time: 6, nodeScope: 4, waits: true}
)

var (
	acrossNamespacesOnNodes  = theme{pods: 14, workloads: 5, nodes: 4, sequences: 3, time: 1, nodeScope: 8, namespaces: 2, near: true}
	acrossNamespacesLate     = theme{pods: 12, workloads: 3, sequences: 2, time: 1, namespaces: 5, near: true}
	acrossNamespacesOverTime = theme{pods: 14, workloads: 8, nodes: 1, sequences: 3, time: 6, nodeScope: 3, waits: true, namespaces: 2}
)

// randomWorld makes random events. It holds the objects as the API server would, and the events that watches have yet to
// bring: those of one kind come in order, those of different kinds in any.
type randomWorld struct {
	*rand.Rand
	theme
	clock   time.Time
	serial  int
	objects map[string]map[string]metav1.Object // by kind and name
	queues  map[string][]event                  // by kind
	past    []event                             // some of those delivered
	// uninstalled reports that the kind PodSequence is not installed.
	uninstalled bool
	// truthful keeps all objects from reporting times in the future.
	truthful bool
	seed     uint64
	// others are what aside chooses by, by number.
	others map[uint64]*rand.Rand
}

var worldEpoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func newRandomWorld(seed uint64, theme theme) *randomWorld {
	return &randomWorld{
		Rand: rand.New(rand.NewPCG(seed, 0)), theme: theme, clock: worldEpoch, seed: seed,
		objects: map[string]map[string]metav1.Object{}, queues: map[string][]event{},
	}
}

// oneIn is true once in n times.
func (w *randomWorld) oneIn(n int) bool { return w.IntN(n) == 0 }

func pick[T any](w *randomWorld, from ...T) T { return from[w.IntN(len(from))] }

func (w *randomWorld) nextSerial() string {
	w.serial++
	return strconv.Itoa(w.serial)
}

// step changes something and returns the events that reach the engine then.
func (w *randomWorld) step(c *comparison) []event {
	if w.clock.Equal(worldEpoch) {
		return w.begin(time.Duration(w.IntN(1000)) * time.Millisecond)
	}
	var out []event
	n := w.IntN(w.pods + w.workloads + w.nodes + w.sequences + w.time + w.namespaces + 1)
	for _, what := range []struct {
		weight int
		happen func(*comparison) []event
	}{
		{w.pods, w.stepPods}, {w.workloads, w.stepWorkloads}, {w.nodes, w.stepNodes},
		{w.sequences, w.stepSequences}, {w.time, w.stepTime}, {w.namespaces, w.stepNamespaces}, {1, w.stepWatches},
	} {
		if n -= what.weight; n < 0 {
			out = what.happen(c)
			break
		}
	}
	if w.uninstalled && w.oneIn(4) || !w.uninstalled && w.oneIn(60) {
		w.uninstalled = !w.uninstalled
		out = append(out, event{verb: verbInstall, installed: !w.uninstalled})
	}
	if w.oneIn(6) {
		return out // the watches lag
	}
	out = append(out, w.deliver()...)
	if len(w.past) > 0 && w.oneIn(8) { // once more what was told before
		out = append(out, pick(w, w.past...))
	}
	return out
}

// begin tells of the time, and then of the nodes that there are: somebody has put them there before.
func (w *randomWorld) begin(after time.Duration) []event {
	out := []event{w.tickTo(worldEpoch.Add(after))}
	w.aside(func() {
		for n := range 4 {
			w.addNode("node-" + strconv.Itoa(n))
		}
	})
	delete(w.queues, "Node")
	return append(out, event{verb: verbReplace, kind: "Node", objects: sorted[metav1.Object](w, "Node")})
}

// put stores an object in the version that is to come, and drop deletes one.
func (w *randomWorld) put(kind string, object metav1.Object) {
	switch {
	case kind == "Node", kind == "Namespace", kind == "ClusterPodSequence", object.GetNamespace() != "":
	case object.GetName() == "seq-2": // it speaks of another namespace's pods
		object.SetNamespace("operations")
	default:
		object.SetNamespace(oracleNamespace)
	}
	object.SetResourceVersion(w.nextSerial())
	if object.GetUID() == "" {
		object.SetUID(types.UID("uid-" + object.GetResourceVersion()))
		object.SetCreationTimestamp(metav1.NewTime(w.clock.Truncate(time.Second)))
	}
	if w.objects[kind] == nil {
		w.objects[kind] = map[string]metav1.Object{}
	}
	w.objects[kind][oracleKey(object)] = object
	w.queues[kind] = append(w.queues[kind], event{verb: verbApply, kind: kind, object: object, askFirst: w.oneIn(4)})
}

func (w *randomWorld) drop(kind string, object metav1.Object) {
	delete(w.objects[kind], oracleKey(object))
	if w.oneIn(8) { // a watch that is late, of another object of that name
		other := &corev1.Pod{}
		other.Namespace, other.Name, other.UID = object.GetNamespace(), object.GetName(), "uid-of-another"
		if kind == "Pod" {
			w.queues[kind] = append(w.queues[kind], event{verb: verbRemove, kind: kind, object: other})
		}
	}
	gone := object.(runtime.Object).DeepCopyObject().(metav1.Object)
	gone.SetResourceVersion(w.nextSerial()) // a watch brings it in the version of its deletion
	w.queues[kind] = append(w.queues[kind], event{verb: verbRemove, kind: kind, object: gone})
}

// sorted are the world's objects of a kind by name, for the same choices every time.
func sorted[T metav1.Object](w *randomWorld, kind string) []T {
	var list []T
	for _, name := range slices.Sorted(maps.Keys(w.objects[kind])) {
		list = append(list, w.objects[kind][name].(T))
	}
	return list
}

// deliver takes events from the watches, one kind at a time, in any order of kinds.
func (w *randomWorld) deliver() []event {
	var out []event
	kinds := slices.Sorted(maps.Keys(w.queues))
	w.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	for _, kind := range kinds {
		if w.oneIn(10) {
			continue
		}
		out = append(out, w.queues[kind]...)
		delete(w.queues, kind)
	}
	for _, e := range out {
		if e.verb == verbApply && w.oneIn(4) {
			w.past = append(w.past, e)
		}
	}
	// What was told of an object that is gone must not be told again: no watch does that.
	w.past = slices.DeleteFunc(w.past, func(e event) bool {
		now := w.objects[e.kind][oracleKey(e.object)]
		return now == nil || now.GetUID() != e.object.GetUID() || w.pending(e.kind)
	})
	return out
}

func (w *randomWorld) pending(kind string) bool { return len(w.queues[kind]) > 0 }

// stepWatches breaks a watch: what it had yet to bring comes as a list. Seldom the program starts anew.
func (w *randomWorld) stepWatches(*comparison) []event {
	kinds := append([]string{"Pod", "Node", "Namespace", "PodSequence", "ClusterPodSequence"}, workloadKinds...)
	w.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	var out []event
	if w.oneIn(4) {
		out = append(out, event{verb: verbRestart}, event{verb: verbTick, at: w.clock}, event{verb: verbInstall, installed: !w.uninstalled})
		w.past = nil
	} else {
		kinds = kinds[:1]
	}
	for _, kind := range kinds {
		delete(w.queues, kind)
		out = append(out, event{verb: verbReplace, kind: kind, objects: sorted[metav1.Object](w, kind)})
	}
	return out
}

// tickTo moves the clock.
func (w *randomWorld) tickTo(at time.Time) event {
	w.clock = at
	return event{verb: verbTick, at: at}
}

// stepTime moves the clock: a bit, to the moment the engine asks for, to just before it, or far.
func (w *randomWorld) stepTime(c *comparison) []event {
	const bit = time.Millisecond
	wake := c.engine.NextWake()
	if !wake.IsZero() && wake.After(w.clock) && wake.Sub(w.clock) < time.Hour {
		switch w.IntN(4) {
		case 0:
			return []event{w.tickTo(wake)}
		case 1:
			return []event{w.tickTo(w.clock.Add(wake.Sub(w.clock) / 2)), w.tickTo(wake.Add(-time.Nanosecond)), w.tickTo(wake)}
		}
	}
	return []event{w.tickTo(w.clock.Add(pick(w,
		bit, 300*bit, 700*bit, time.Second, 1300*bit, 2*time.Second, 5*time.Second, 10*time.Second, time.Minute)))}
}

// stepNodes creates, deletes or changes a node.
func (w *randomWorld) stepNodes(*comparison) []event {
	name := "node-" + strconv.Itoa(w.IntN(4))
	node, _ := w.objects["Node"][name].(*corev1.Node)
	if node == nil {
		w.addNode(name)
		return nil
	}
	node = node.DeepCopy()
	w.asideBy(3, func() { w.sayOf(node) })
	switch w.IntN(13) {
	case 0:
		w.drop("Node", node)
		return nil
	case 1: // gone and made again, with only the second event seen
		node.UID = ""
	case 2, 3:
		node.Labels["pool"] = pick(w, "a", "b")
	case 4, 5:
		node.Spec.Taints = nil
		if effect := pick(w, "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule); effect != "" {
			node.Spec.Taints = []corev1.Taint{{Key: pick(w, "dedicated", "node-role.kubernetes.io/control-plane", corev1.TaintNodeNotReady), Value: "db", Effect: effect}}
		}
	case 6:
		node.Spec.Unschedulable = !node.Spec.Unschedulable
	case 7:
		node.Status.Allocatable = w.randomRoom()
	case 8, 9:
		w.report(node, true)
	case 10, 11:
		w.report(node, false)
	default:
		node.Status.Phase = pick(w, corev1.NodeRunning, corev1.NodePending) // nothing that matters
	}
	w.put("Node", node)
	return nil
}

func (w *randomWorld) addNode(name string) {
	node := &corev1.Node{}
	node.Name = name
	node.Labels = map[string]string{corev1.LabelHostname: name, "pool": pick(w, "a", "b")}
	node.Status.Allocatable = w.randomRoom()
	w.report(node, true)
	w.asideBy(3, func() { w.sayOf(node) })
	w.put("Node", node)
}

func (w *randomWorld) randomLabels() map[string]string {
	l := map[string]string{}
	for _, key := range []string{"tier", "zone"} {
		if !w.oneIn(4) {
			l[key] = pick(w, "a", "b", "c")
		}
	}
	if w.oneIn(5) {
		l["podsequence.example.com/sequence"] = pick(w, "seq-0", "seq-0", "seq-1", "seq-2", "other")
	}
	if w.namespaces > 0 && w.oneIn(4) {
		l["app.kubernetes.io/name"] = "podsequence" // which makes a pod our own in one namespace only
	}
	return l
}

// randomRoom is what a node offers: most often so few pods that not all that wait are tried at once when it opens.
func (w *randomWorld) randomRoom() corev1.ResourceList {
	return resourcesOf(pick(w, "", "pods=1", "pods=3", "pods=110 cpu=4"))
}

// resourcesOf reads amounts, such as: cpu=1 pods=10.
func resourcesOf(text string) corev1.ResourceList {
	var list corev1.ResourceList
	for pair := range strings.FieldsSeq(text) {
		if list == nil {
			list = corev1.ResourceList{}
		}
		name, amount, _ := strings.Cut(pair, "=")
		list[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	return list
}
