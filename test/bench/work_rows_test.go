package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// These rows ask what rows 1, 3 and 4 ask, and count the scheduler's instructions for so many pods. So they need no quiet machine, and fewer
// turns; but a count is not a time. Row 2 is left out: what the scheduler keeps of a batch lasts for half a second, in which one that is
// slowed down by the count schedules two pods.

const (
	instructionsPerPod = "instructions a pod"
	bytesPerPod        = "bytes allocated a pod"
	// apiServerTime is of a pod.
	apiServerTime = "CPU us of the API server"

	pluginOff    = "plugin off"
	pluginOn     = "plugin on"
	pluginBeside = "plugin on, a sequence in their namespace"
	workTurns    = 5
)

// workload is what the scheduler does while its instructions are counted.
type workload struct {
	// plugin says whether the scheduler runs with ours.
	plugin bool
	// gated are held by native gates, and waiting by a sequence if the plugin is on.
	gated, waiting int
	// changes of readiness are made with each pod: the pods of a group that is never complete change in turn.
	changes int
	// changed is how many have been made.
	changed int
	// sequenceBeside puts a sequence into the namespace of the pods, which it does not select.
	sequenceBeside bool
}

func workIdleRow() row {
	return row{
		number: 1, work: true, name: "idle-work", turns: workTurns,
		question: "What does the plugin cost pods in no sequence, with the kinds installed and a sequence elsewhere? 5,000 nodes, 100 pods",
		variants: []variant{
			workVariant(pluginOff, workload{}), workVariant(pluginOn, workload{plugin: true}),
			workVariant(pluginBeside, workload{plugin: true, sequenceBeside: true}),
		},
		claims: []claim{
			{text: "instructions of the scheduler, plugin on / off", of: pluginOn, to: pluginOff, figure: instructionsPerPod, atMost: new(1.02)},
			{text: "the same, with the sequence in their namespace", of: pluginBeside, to: pluginOff, figure: instructionsPerPod, atMost: new(1.02)},
		},
		notes: []string{whatThePluginCosts},
	}
}

// whatThePluginCosts names the functions that profiles of both variants differ by.
const whatThePluginCosts = "Two things make the difference. The plugin has a watch of pods of its own (package feed), so that each event of a " +
	"pod is decrypted and decoded once more: the profile has twice as many calls of PodSpec.Unmarshal. And the scheduler lists the metadata of " +
	"PodSequences and ClusterPodSequences to know that none is missing which was there before a pod ((*inquiry).list in feed, some 1.4 million " +
	"instructions a list): at most ten times a second, for all pods that came meanwhile. A scheduler that is slowed down by the count makes more " +
	"lists for each pod than a real one, so the figure is too high by what these cost."

const workHeldSeries = "held-work"

func workHeldRow() row {
	held := inFull(10_000, 200)
	return row{
		number: 3, work: true, name: "held-work", turns: workTurns, series: workHeldSeries,
		question: "What do 10,000 held pods cost 100 other ones? 5,000 nodes",
		variants: []variant{
			workVariant(heldByGates, workload{gated: held}), workVariant(heldByUs, workload{plugin: true, waiting: held}),
		},
		claims: []claim{
			{text: "instructions of the scheduler, held by us / by native gates", of: heldByUs, to: heldByGates, figure: instructionsPerPod, atMost: new(1.02)},
		},
		notes: []string{whatThePluginCosts, "Messages are off: there are ten a second at most, and a second is too short for a scheduler that is slowed down by the count."},
	}
}

func workChurnRow() row {
	const ours, gates = "held by us, with churn", "held by native gates, plugin off, with churn"
	held := inFull(10_000, 200)
	return row{
		number: 4, work: true, name: "churn-work", turns: workTurns, series: workHeldSeries,
		question: "What does a change of readiness with each pod cost, of pods that the 10,000 held ones of row 3 wait for?",
		variants: []variant{
			workVariant(gates, workload{gated: held, changes: 1}),
			workVariant(ours, workload{plugin: true, waiting: held, changes: 1}),
		},
		claims: []claim{
			{text: "instructions of the scheduler, held by us / by native gates", of: ours, to: gates, figure: instructionsPerPod, atMost: new(1.03)},
		},
	}
}

// workVariant is a workload in a cluster of its own. Each turn has a scheduler of its own.
func workVariant(name string, w workload) variant {
	return variant{name: name, start: func(b *testing.B) func(int) measurement { return w.start(b) }}
}

const (
	// firstPods are those that the held ones wait for.
	firstPods = 100
	// heldNamespace has the pods that are held, and those that they wait for.
	heldNamespace = "held"
	// atATime is how many pods come at a time.
	atATime = 20
	// warmingPods are bound before the count begins.
	warmingPods = 20
	// allocatedMetric grows by what a process allocates.
	allocatedMetric = "go_memstats_alloc_bytes_total"
)

// start brings up a cluster with all that is there before the scheduler, and returns what measures one turn.
func (w workload) start(b *testing.B) func(turn int) measurement {
	b.Helper()
	options := controlplane.Options{NodeCapacity: corev1.ResourceList{
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"),
	}}
	s := newSite(b, inFull(5000, 200), options, ourScheduler)
	b.Cleanup(s.close)
	require.NoError(b, s.Kill(s.ctx, ourScheduler))
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: heldNamespace}})
	s.createAccount(heldNamespace)
	sequences := heldNamespace
	if w.sequenceBeside {
		sequences = namespace
	}
	s.create(&v1alpha1.PodSequence{
		ObjectMeta: metav1.ObjectMeta{Namespace: sequences, Name: "held"},
		Spec: v1alpha1.PodSequenceSpec{PodGroups: []v1alpha1.PodGroup{
			// More than there are: whatever becomes of the pods of this group, those of the next one stay held.
			{Name: "first", PodSelector: tier(tierFirst), ExpectedPods: 2 * firstPods},
			{Name: "many", PodSelector: tier(tierMany)},
		}},
	})
	if w.gated+w.waiting > 0 {
		s.createMany(firstPods, func(i int) *st.PodWrapper {
			return heldPod("first", i).Label(tierLabel, tierFirst).Node(numbered("node", i))
		})
	}
	s.createMany(w.gated, func(i int) *st.PodWrapper {
		return heldPod("many", i).Label(tierLabel, tierMany).SchedulingGates([]string{nativeGate})
	})
	s.createMany(w.waiting, func(i int) *st.PodWrapper { return heldPod("many", i).Label(tierLabel, tierMany) })
	config, seen := w.config(s), s.watchBindings()
	return func(turn int) measurement { return w.measure(s, config, seen, turn) }
}

func (w *workload) measure(s *site, config string, seen *bindings, turn int) measurement {
	s.b.Helper()
	const attempts = 3
	for attempt := range attempts {
		// Names that no pod had before, of the same length.
		suffix := 100 + attempts*turn + attempt
		if m, done := w.attempt(s, config, seen, suffix); done {
			return m
		}
		progress("%s has failed, once more", countingTool)
	}
	s.b.Fatalf("%s has failed %d times, see %s", countingTool, attempts, s.Log(ourScheduler))
	return measurement{}
}

// attempt is false if the tool that counts has failed.
func (w *workload) attempt(s *site, config string, seen *bindings, suffix int) (m measurement, done bool) {
	s.b.Helper()
	c := s.startCounted(ourScheduler, "--config="+config)
	defer c.stop()
	if w.plugin {
		s.await("the plugin to know all it must know", func() bool { return s.Metric(s.b, ourScheduler, "podsequence_engine_synced") == 1 })
	}
	s.await("the queue to have all held pods", func() bool {
		return s.Metric(s.b, ourScheduler, `scheduler_pending_pods{queue="gated"`) == float64(w.gated+w.waiting)
	})
	measured := names(numbered("measured", suffix), 100)
	warming := names(numbered("warming", suffix), warmingPods)
	all := append(warming, measured...)
	w.schedule(c, seen, warming)
	allocated := s.Metric(s.b, ourScheduler, allocatedMetric)
	c.begin(controlplane.APIServer)
	if done = w.schedule(c, seen, measured); done {
		work := c.end()
		count := float64(len(measured))
		m.figures = map[string]float64{
			instructionsPerPod: work.instructions / count,
			bytesPerPod:        (s.Metric(s.b, ourScheduler, allocatedMetric) - allocated) / count,
			apiServerTime:      float64(work.spent[controlplane.APIServer].Microseconds()) / count,
		}
	}
	s.atOnce(len(all), func(i int) error {
		return s.core.CoreV1().Pods(namespace).Delete(s.ctx, all[i], metav1.DeleteOptions{})
	})
	return m, done
}

// schedule creates pods, a few at a time, and waits until they are bound. If all came at once, the slow scheduler would open connections, by
// chance more or fewer, for more bindings than one connection takes. The scheduler sees the few at once, however busy the machine is, so
// that it asks once for all of them whether all sequences are known. It reports whether the scheduler is still there.
func (w *workload) schedule(c *counted, seen *bindings, names []string) bool {
	c.b.Helper()
	for few := range slices.Chunk(names, atATime) {
		c.signal(syscall.SIGSTOP)
		c.createMany(len(few), func(i int) *st.PodWrapper { return workPod(few[i]) })
		c.signal(syscall.SIGCONT)
		for range w.changes * len(few) {
			ready := corev1.ConditionTrue
			if w.changed/firstPods%2 == 1 {
				ready = corev1.ConditionFalse
			}
			_, err := c.writeReadiness(heldNamespace, numbered("first", w.changed%firstPods), ready)
			require.NoError(c.b, err)
			w.changed++
		}
		if !c.awaitBound(seen, few) {
			return false
		}
	}
	return true
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
