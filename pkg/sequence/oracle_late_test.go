package sequence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence/inventory"
)

// Watches that are not in step: an engine whose passes are recorded after a look must pass no group that the cluster, as it really was,
// never passed. How the cluster really was is what the oracle says that is told of everything at once.

func TestLateEventsPassNothingThatWasNot(t *testing.T)       { compareLate(t, workloadsInCluster) }
func TestLateEventsPassNothingThatWasNotOfPods(t *testing.T) { compareLate(t, podsOnly) }
func TestLateEventsPassNothingThatWasNotAcrossNamespaces(t *testing.T) {
	compareLate(t, acrossNamespacesLate)
}

func compareLate(t *testing.T, theme theme) {
	t.Parallel()
	steps := oracleSteps(t) / 20
	const perWorld = 200
	seen := counters{}
	for seed := range uint64(max(1, steps/perWorld)) {
		if only := envInt(t, "PODSEQUENCE_ORACLE_SEED", -1); only >= 0 && seed != uint64(only) {
			continue
		}
		l := newLateness(newRandomWorld(seed, theme), seen)
		for range perWorld {
			if err := l.step(); err != nil {
				t.Fatalf("seed %d: %v\nwhat happened, and what the engine was told of it and when:\n%s", seed, err, l.log)
			}
		}
		if err := l.finish(); err != nil {
			t.Fatalf("seed %d: %v\nwhat happened, and what the engine was told of it and when:\n%s", seed, err, l.log)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%7d %s", seen[what], what)
	}
	for _, what := range []string{"recorded", "not agreed", "looked at pods"} {
		if seen[what] == 0 && steps >= defaultSteps/20 && theme.workloads > 0 { // a single world need not have all
			t.Errorf("nothing was %s: these worlds show nothing", what)
		}
	}
}

// lateness is a world, all of which the oracle sees at once, and an engine that is told of each kind by a watch of its own.
type lateness struct {
	*randomWorld
	truth  *comparison
	engine recording
	seen   counters
	log    string

	coming map[string][]event // by kind, what the engine has yet to be told
	// passed are the groups that were passed at some time, by sequence and definition.
	passed map[types.UID]sets.Set[string]
}

// lateKinds are those of which the engine is told late. Of nodes and the time it is told at once: nobody looks at these.
var lateKinds = append([]string{"Pod", "PodSequence", "ClusterPodSequence", "Namespace"}, workloadKinds...)

func newLateness(w *randomWorld, seen counters) *lateness {
	l := &lateness{
		randomWorld: w, truth: newComparison(counters{}), seen: seen, engine: newEngineWith(oracleUnprobedReady),
		coming: map[string][]event{}, passed: map[types.UID]sets.Set[string]{},
	}
	l.engine.ripe = sets.New[types.NamespacedName]()
	return l
}

// step changes something in the world, and tells the engine of some of what happened.
func (l *lateness) step() error {
	if l.clock.Equal(worldEpoch) {
		return l.happened(l.begin(time.Second))
	}
	n := l.IntN(l.theme.pods + l.workloads + l.nodes + l.sequences + l.theme.time + l.theme.namespaces)
	for _, what := range []struct {
		weight int
		happen func(*comparison) []event
	}{
		{l.theme.pods, l.stepPods}, {l.workloads, l.stepWorkloads}, {l.nodes, l.stepNodes}, {l.sequences, l.stepSequences}, {l.theme.time, l.stepTime}, {l.theme.namespaces, l.stepNamespaces},
	} {
		if n -= what.weight; n < 0 {
			if err := l.happened(what.happen(l.truth)); err != nil {
				return err
			}
			break
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(l.coming)) {
		if l.oneIn(2) {
			l.tell(kind, l.IntN(len(l.coming[kind])+1))
		}
	}
	if l.oneIn(15) {
		l.relist(pick(l.randomWorld, append([]string{"Pod"}, workloadKinds...)...))
	}
	if l.oneIn(2) {
		return l.record()
	}
	return nil
}

// finish tells the engine of everything: then it comes to what the cluster has come to, unless that was so for a moment only.
func (l *lateness) finish() error {
	for _, kind := range slices.Sorted(maps.Keys(l.coming)) {
		l.tell(kind, len(l.coming[kind]))
	}
	for range 20 {
		if err := l.record(); err != nil {
			return err
		}
	}
	if len(l.engine.ripe) > 0 {
		return fmt.Errorf("the engine knows everything, and passes of %v cannot be recorded", sets.List(sets.KeySet(namesOf(l.engine.ripe))))
	}
	return nil
}

func namesOf(keys sets.Set[types.NamespacedName]) map[string]struct{} {
	names := map[string]struct{}{}
	for key := range keys {
		names[key.String()] = struct{}{}
	}
	return names
}

// happened tells the oracle in the order in which things happened, and queues what the engine is told later.
func (l *lateness) happened(events []event) error {
	for _, kind := range slices.Sorted(maps.Keys(l.queues)) {
		events = append(events, l.queues[kind]...)
		delete(l.queues, kind)
	}
	events = slices.DeleteFunc(events, func(e event) bool { return e.object != nil && e.object.GetUID() == "uid-of-another" })
	slices.SortStableFunc(events, func(a, b event) int { return a.version() - b.version() })
	for _, e := range events {
		e.askFirst = false
		l.log += e.String() + "\n"
		if err := l.truth.do(e); err != nil {
			return fmt.Errorf("the engine that is told at once: %w", err)
		}
		l.notePasses()
		if slices.Contains(lateKinds, e.kind) {
			l.coming[e.kind] = append(l.coming[e.kind], e)
			continue
		}
		e.tellEngine(l.engine)
	}
	return nil
}

// notePasses remembers what the cluster has passed.
func (l *lateness) notePasses() {
	for uid, passes := range l.truth.oracle.recorded {
		if l.passed[uid] == nil {
			l.passed[uid] = sets.New[string]()
		}
		for definition := range passes {
			l.passed[uid].Insert(definition)
		}
	}
	for _, v := range l.truth.oracle.views { // also what an earlier release recorded
		for i, definition := range v.definitions {
			if _, recorded := l.truth.oracle.recordOf(v, i); recorded {
				if l.passed[v.UID] == nil {
					l.passed[v.UID] = sets.New[string]()
				}
				l.passed[v.UID].Insert(definition)
			}
		}
	}
}

// tell tells the engine of the next events of a kind.
func (l *lateness) tell(kind string, n int) {
	for _, e := range l.coming[kind][:n] {
		l.log += "    told: " + e.String() + "\n"
		e.tellEngine(l.engine)
	}
	if l.coming[kind] = l.coming[kind][n:]; len(l.coming[kind]) == 0 {
		delete(l.coming, kind)
	}
}

// relist breaks the watch of a kind: what it had yet to bring comes as a list.
func (l *lateness) relist(kind string) {
	delete(l.coming, kind)
	e := event{verb: verbReplace, kind: kind, objects: sorted[metav1.Object](l.randomWorld, kind), asOf: strconv.Itoa(max(1, l.serial))} // no API server lists at version 0
	l.log += "    told: " + e.String() + "\n"
	e.tellEngine(l.engine)
}

// record does what the recorder does: it looks at what there really is, and records passes if the engine still says so.
func (l *lateness) record() error {
	byName := func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) }
	for _, key := range slices.SortedFunc(maps.Keys(l.engine.ripe), byName) { // so that a seed always tells the same story
		ripe, ok := l.engine.Ripe(key)
		if !ok {
			l.engine.ripe.Delete(key)
			continue
		}
		if !l.isPresent(ripe) {
			l.seen["conflict"]++
			continue
		}
		looked := l.look(ripe)
		if len(ripe.PodNamespaces) > 0 {
			l.seen["looked at pods"]++
		}
		if l.oneIn(4) { // events come while somebody looks
			for _, kind := range slices.Sorted(maps.Keys(l.coming)) {
				l.tell(kind, l.IntN(len(l.coming[kind])+1))
			}
		}
		if !l.engine.Agrees(ripe, looked) {
			l.seen["not agreed"]++
			continue
		}
		if !l.isPresent(ripe) {
			continue
		}
		l.engine.ripe.Delete(key)
		l.seen["recorded"]++
		l.log += fmt.Sprintf("    recorded: %s %v\n", key, slices.Sorted(maps.Keys(ripe.Passes)))
		for hash, pass := range ripe.Passes {
			definition := l.truth.oracle.definitions[hash]
			if !l.passed[ripe.UID].Has(definition) && !pass.TimedOut && !l.mayMiss() {
				return fmt.Errorf("%s: a pass is recorded that never was: %s", key, definition)
			}
		}
		l.engine.record(l.engine.recordRipe(ripe))
	}
	return nil
}

// isPresent reports whether the sequence is still the version that the engine goes by: the API server refuses the record otherwise.
func (l *lateness) isPresent(ripe Ripe) bool {
	kind := "PodSequence"
	if ripe.Key.Namespace == "" {
		kind = "ClusterPodSequence"
	}
	now := l.truth.oracle.objects[kind][ripe.Key.Name]
	return now != nil && now.GetUID() == ripe.UID && now.GetResourceVersion() == ripe.ResourceVersion
}

func (l *lateness) look(ripe Ripe) (looked Looked) {
	for _, key := range ripe.Workloads {
		for _, object := range l.truth.oracle.objects[string(key.Kind)] {
			if object.GetNamespace() == key.Namespace && object.GetName() == key.Name {
				looked.Workloads = append(looked.Workloads, object)
			}
		}
	}
	for _, p := range all[*corev1.Pod](l.truth.oracle, "Pod") {
		if slices.Contains(ripe.PodNamespaces, p.Namespace) {
			looked.Pods = append(looked.Pods, metav1.PartialObjectMetadata{ObjectMeta: p.ObjectMeta})
		}
	}
	return looked
}

// mayMiss reports whether the engine may pass what never was by the contract: a workload that is created in the moment in which all others
// become ready may be missed, and nobody looks at namespaces.
func (l *lateness) mayMiss() bool {
	if len(l.coming["Namespace"]) > 0 {
		return true
	}
	for _, kind := range workloadKinds {
		for _, e := range l.coming[kind] {
			if l.engine.workloads.byName[inventory.WorkloadKey{Kind: inventory.Kind(kind), Namespace: e.object.GetNamespace(), Name: e.object.GetName()}] == nil {
				return true
			}
		}
	}
	return false
}
