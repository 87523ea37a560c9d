package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// workload is what the scheduler does while its instructions are counted.
type workload struct {
	// plugin says whether the scheduler runs with ours.
	plugin bool
	// batched says that the scheduler may batch pods, which all want the same port.
	batched bool
	// spans are counted one after the other.
	spans []span
}

// span is something of which the instructions are counted: pods that come, a few at a time.
type span struct {
	// of ends the names of its figures.
	of        string
	namespace string
	// changes is true if a pod that others wait for changes its readiness with each pod.
	changes bool
}

const (
	// firstPods are those that the held ones wait for.
	firstPods = 100
	// heldNamespace has a sequence, the pods that are held, and those that they wait for.
	heldNamespace = "held"
	// atATime is how many pods come at a time.
	atATime = 20
	// warmingPods are bound in each namespace before the count begins.
	warmingPods = 20
	// countedPods are those of a span. With fewer, what is done once in a while weighs too much.
	countedPods = 100
	// allocatedMetric grows by what a process allocates.
	allocatedMetric = "go_memstats_alloc_bytes_total"
)

// ground is a cluster with all that is there before the scheduler. Variants that differ in nothing but the scheduler share one: each turn
// has a scheduler of its own.
type ground struct {
	// lock is held while a variant uses the ground: in a trial several are measured at a time.
	lock sync.Mutex
	*site
	// gated are held by native gates, and waiting by a sequence if the plugin is on.
	gated, waiting int
	// scheduler is the path of the program that is counted.
	scheduler string
	// seen are the bindings in each namespace in which pods come, and events the pods there of which an event says that they were bound.
	seen, events map[string]*bindings
	// attempts have been made, changes of readiness too: the pods of a group that is never complete change in turn.
	attempts, changed int
}

// variant is a workload on this ground.
func (g *ground) variant(name string, w workload) variant {
	return variant{name: name, start: func(b *testing.B) func(int) measurement {
		b.Helper()
		g.lock.Lock()
		defer g.lock.Unlock()
		if g.site == nil {
			g.prepare(b)
		}
		for _, of := range w.spans {
			if g.seen[of.namespace] == nil {
				g.seen[of.namespace], g.events[of.namespace] = g.watchBindingsIn(of.namespace), g.watchEventsIn(of.namespace)
			}
		}
		config := w.config(g.site)
		return func(int) measurement { return g.measure(w, config) }
	}}
}

// prepare brings up the cluster.
func (g *ground) prepare(b *testing.B) {
	b.Helper()
	g.scheduler = buildCounted(b)
	options := controlplane.Options{
		NodeCapacity: corev1.ResourceList{
			corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		},
		// Timers would come due in the count, or after it.
		UnprobedReadySeconds: new(int32(0)),
	}
	s := newSite(b, inFull(5000, 200), options, ourScheduler, ourProgram)
	b.Cleanup(s.close)
	g.site, g.seen, g.events = s, map[string]*bindings{}, map[string]*bindings{}
	require.NoError(b, s.Kill(s.ctx, ourScheduler))
	require.NoError(b, s.Kill(s.ctx, ourProgram))
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: heldNamespace}})
	s.createAccount(heldNamespace)
	s.create(&v1alpha1.PodSequence{
		ObjectMeta: metav1.ObjectMeta{Namespace: heldNamespace, Name: "held"},
		Spec: v1alpha1.PodSequenceSpec{PodGroups: []v1alpha1.PodGroup{
			// More than there are: whatever becomes of the pods of this group, those of the next one stay held.
			{Name: "first", PodSelector: tier(tierFirst), ExpectedPods: 2 * firstPods},
			{Name: "many", PodSelector: tier(tierMany)},
		}},
	})
	if g.gated+g.waiting > 0 {
		s.createMany(firstPods, func(i int) *st.PodWrapper {
			return heldPod("first", i).Label(tierLabel, tierFirst).Node(numbered("node", i))
		})
	}
	s.createMany(g.gated, func(i int) *st.PodWrapper {
		return heldPod("many", i).Label(tierLabel, tierMany).SchedulingGates([]string{nativeGate})
	})
	s.createMany(g.waiting, func(i int) *st.PodWrapper { return heldPod("many", i).Label(tierLabel, tierMany) })
}

func (g *ground) measure(w workload, config string) measurement {
	g.b.Helper()
	g.lock.Lock()
	defer g.lock.Unlock()
	const attempts = 3
	for range attempts {
		m, done := g.attempt(w, config)
		if done && g.waiting > 0 {
			m.figures[ofController], done = g.countController()
		}
		if done {
			return m
		}
		progress("%s has failed, once more", countingTool)
	}
	g.b.Fatalf("%s has failed %d times, see %s and %s", countingTool, attempts, g.Log(ourScheduler), g.Log(ourProgram))
	return measurement{}
}

// attempt is false if the tool that counts has failed.
func (g *ground) attempt(w workload, config string) (m measurement, done bool) {
	g.b.Helper()
	c := g.startCounted(ourScheduler, g.scheduler, "--config="+config)
	defer c.stop()
	c.awaitReady()
	if w.plugin {
		g.await("the plugin to know all it must know", func() bool { return g.Metric(g.b, ourScheduler, syncedMetric) == 1 })
	}
	g.await("the queue to have all held pods", func() bool {
		return g.Metric(g.b, ourScheduler, `scheduler_pending_pods{queue="gated"`) == float64(g.gated+g.waiting)
	})
	m.figures = map[string]float64{}
	g.attempts++
	created := map[string][]string{}
	come := func(of span, prefix string, count int) bool {
		// Names that no pod had before, of the same length.
		pods := names(numbered(prefix, 100+g.attempts), count)
		created[of.namespace] = append(created[of.namespace], pods...)
		return g.schedule(c, w, of, pods)
	}
	for i, of := range w.spans {
		if done = come(span{namespace: of.namespace}, numbered("warming", i), warmingPods); !done {
			break
		}
		allocated, hints := g.Metric(g.b, ourScheduler, allocatedMetric), g.hints()
		c.begin(controlplane.APIServer)
		if done = come(of, numbered("counted", i), countedPods); !done {
			break
		}
		work := c.end()
		m.figures[instructionsPerPod+of.of] = work.instructions / countedPods
		m.figures[bytesPerPod+of.of] = (g.Metric(g.b, ourScheduler, allocatedMetric) - allocated) / countedPods
		m.figures[apiServerTime+of.of] = float64(work.spent[controlplane.APIServer].Microseconds()) / countedPods
		if w.batched {
			m.figures[hintsPerPod] = (g.hints() - hints) / countedPods
		}
	}
	c.stop()
	for namespace, pods := range created {
		g.atOnce(len(pods), func(i int) error {
			return g.core.CoreV1().Pods(namespace).Delete(g.ctx, pods[i], metav1.DeleteOptions{})
		})
	}
	return m, done
}

// hints is how many pods the scheduler has scheduled as those of a batch.
func (g *ground) hints() float64 {
	g.b.Helper()
	return g.Metric(g.b, ourScheduler, `scheduler_batch_attempts_total{profile="`+ourScheduler+`",result="hint_used"}`)
}

// schedule creates pods, a few at a time, and waits until they are bound. If all came at once, the slow scheduler would open connections, by
// chance more or fewer, for more bindings than one connection takes. The scheduler sees the few at once, however busy the machine is, so
// that it asks once for all of them whether all sequences are known. It ends when the events of all pods are written and read, or the next
// count would have some of them. It reports whether the scheduler is still there.
func (g *ground) schedule(c *counted, w workload, of span, names []string) bool {
	g.b.Helper()
	for few := range slices.Chunk(names, atATime) {
		c.signal(syscall.SIGSTOP)
		g.createMany(len(few), func(i int) *st.PodWrapper {
			pod := workPod(few[i]).Namespace(of.namespace)
			if w.batched {
				// The node that was chosen for one is out of the question for the next.
				pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
			}
			return pod
		})
		if of.changes {
			g.change(len(few))
		}
		c.signal(syscall.SIGCONT)
		if !c.awaitBound(g.seen[of.namespace], few) || !c.awaitBound(g.events[of.namespace], few) {
			return false
		}
	}
	return c.awaitIdle()
}

// change makes changes of readiness, of one pod after the other.
func (g *ground) change(count int) {
	g.b.Helper()
	for range count {
		ready := corev1.ConditionTrue
		if g.changed/firstPods%2 == 1 {
			ready = corev1.ConditionFalse
		}
		_, err := g.writeReadiness(heldNamespace, numbered("first", g.changed%firstPods), ready)
		require.NoError(g.b, err)
		g.changed++
	}
}

// countController counts the controller's instructions for a change of readiness. It is false if the tool that counts has failed.
func (g *ground) countController() (instructions float64, done bool) {
	g.b.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(g.b, err)
	c := g.startCounted(ourProgram, filepath.Join(bin, ourProgram))
	defer c.stop()
	g.await("the controller to know all it must know", func() bool { return g.Metric(g.b, ourProgram, syncedMetric) == 1 })
	if !g.awaitStatus(c) {
		return 0, false
	}
	c.begin()
	c.signal(syscall.SIGSTOP)
	g.change(firstPods)
	c.signal(syscall.SIGCONT)
	if !g.awaitStatus(c) {
		return 0, false
	}
	return c.end().instructions / firstPods, true
}

// awaitStatus waits until status has each change of readiness. It reports whether the program that writes it is still there.
func (g *ground) awaitStatus(c *counted) bool {
	g.b.Helper()
	ready := g.changed % firstPods
	if g.changed/firstPods%2 == 1 {
		ready = firstPods - ready
	}
	g.await("status to say how many pods are ready", func() bool {
		sequence := &v1alpha1.PodSequence{}
		require.NoError(g.b, g.API.Get(g.ctx, client.ObjectKey{Namespace: heldNamespace, Name: "held"}, sequence))
		groups := sequence.Status.Groups
		return c.isGone() || len(groups) > 0 && int(groups[0].Ready) == ready
	})
	return !c.isGone()
}

func heldPod(prefix string, i int) *st.PodWrapper {
	return workPod(numbered(prefix, i)).Namespace(heldNamespace)
}

// workPod begins a pod that takes a little of its node.
func workPod(name string) *st.PodWrapper {
	return st.MakePod().Namespace(namespace).Name(name).SchedulerName(ourScheduler).TerminationGracePeriodSeconds(0).
		Req(map[corev1.ResourceName]string{corev1.ResourceCPU: "100m", corev1.ResourceMemory: "100Mi"})
}

// config writes the configuration of the scheduler and returns its path: the shipped one, without the plugin or without messages.
func (w workload) config(s *site) string {
	s.b.Helper()
	var config map[string]any
	for _, arg := range s.Args(s.b, ourScheduler) {
		if file, found := strings.CutPrefix(arg, "--config="); found {
			content, err := os.ReadFile(file)
			require.NoError(s.b, err)
			require.NoError(s.b, yaml.Unmarshal(content, &config))
		}
	}
	profile := map[string]any{"schedulerName": ourScheduler}
	var arguments []any
	if w.batched {
		// The default spreads pods of a Service and of a ReplicaSet, which rules out batching.
		arguments = append(arguments, map[string]any{
			"name": "PodTopologySpread", "args": map[string]any{"defaultingType": "List", "defaultConstraints": []any{}},
		})
	}
	if w.plugin {
		shipped := config["profiles"].([]any)[0].(map[string]any)
		profile["plugins"] = shipped["plugins"]
		for _, plugin := range shipped["pluginConfig"].([]any) {
			plugin.(map[string]any)["args"].(map[string]any)["explainWaits"] = false
			arguments = append(arguments, plugin)
		}
	}
	profile["pluginConfig"] = arguments
	config["profiles"] = []any{profile}
	content, err := yaml.Marshal(config)
	require.NoError(s.b, err)
	file := filepath.Join(s.b.TempDir(), fmt.Sprintf("scheduler-%t.yaml", w.plugin))
	require.NoError(s.b, os.WriteFile(file, content, 0o600))
	return file
}
