package sequence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence/inventory"
	. "example.com/podsequence/test/harness/builders"
)

// Watches that are not in step: an engine that confirms what it releases must let nothing go that the cluster, as it really
// was, never released. How the cluster really was is what the oracle says that is told of everything at once.

func TestLateEventsLetNothingGoEarly(t *testing.T)        { compareLate(t, workloadsInCluster) }
func TestLateEventsLetNothingGoEarlyOnNodes(t *testing.T) { compareLate(t, nodesOnly) }
func TestLateEventsLetNothingGoEarlyAcrossNamespaces(t *testing.T) {
	compareLate(t, acrossNamespacesLate)
}
func TestLateEventsLetNothingGoEarlyAcrossNamespacesOnNodes(t *testing.T) {
	compareLate(t, acrossNamespacesOnNodes)
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
	for _, what := range []string{"questions", "answers", "pods that went"} {
		if seen[what] == 0 && steps >= defaultSteps/20 { // a single world need not have all
			t.Errorf("no %s: these worlds show nothing", what)
		}
	}
}

// lateness is a world, all of which the oracle sees at once, and an engine that is told of each kind by a watch of its own.
type lateness struct {
	*randomWorld
	truth  *comparison
	engine *Engine
	seen   counters
	log    string

	coming    map[string][]event // by kind, what the engine has yet to be told
	pods      map[types.UID]*corev1.Pod
	questions Questions
	// oldest are the oldest versions of the questions about a subject, of which questions has the newest.
	oldest map[Subject]int
	// went maps each pod to the nodes that it could go to, each with the last version at which it could; the empty name means that
	// the pod did not have to wait.
	went map[types.UID]map[string]int
	// goes are the nodes to which the pods may go by the engine, as above.
	goes map[types.UID]sets.Set[string]
	// ahead are the groups that were passed at some time, by sequence and definition.
	ahead map[types.UID]sets.Set[string]
}

func newLateness(w *randomWorld, seen counters) *lateness {
	w.late = true
	return &lateness{
		randomWorld: w, truth: newComparison(counters{}), seen: seen,
		engine: NewEngine(Config{
			SchedulerNames: []string{oracleScheduler}, GatePrefixes: []string{"podsequence.example.com/"},
			InstallationNamespace: oracleInstallation, UnprobedReady: oracleUnprobedReady,
		}),
		coming: map[string][]event{}, pods: map[types.UID]*corev1.Pod{}, questions: Questions{}, oldest: map[Subject]int{},
		went: map[types.UID]map[string]int{}, goes: map[types.UID]sets.Set[string]{}, ahead: map[types.UID]sets.Set[string]{},
	}
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
		if l.oneIn(2) || (kind == "Namespace" && l.near && !l.oneIn(4)) {
			continue
		}
		if err := l.tell(kind, l.IntN(len(l.coming[kind])+1)); err != nil {
			return err
		}
	}
	if l.oneIn(15) {
		if err := l.relist(pick(l.randomWorld, lateKinds...)); err != nil {
			return err
		}
	}
	if l.oneIn(2) {
		return l.answer()
	}
	return nil
}

// lateKinds are those about which the engine asks.
var lateKinds = append([]string{"Pod"}, workloadKinds...)

func kindsOf(kinds Kinds) []string {
	switch kinds {
	case OfPods:
		return []string{"Pod"}
	case OfDaemonSets:
		return []string{"Pod", "DaemonSet"}
	case OfNamespaces:
		return []string{"Namespace"}
	}
	return lateKinds
}

// happened tells the oracle in the order in which things happened, and queues what the engine is told later. The engine is told
// at once of sequences, nodes and the time: it is not for the engine to ask whether any of those are missing.
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
		l.note()
		if slices.Contains(lateKinds, e.kind) || l.isGrant(e) {
			l.coming[e.kind] = append(l.coming[e.kind], e)
			continue
		}
		if e.kind == "Namespace" {
			if err := l.tell(e.kind, len(l.coming[e.kind])); err != nil {
				return err
			}
		}
		if e.kind == "PodSequence" || e.kind == "ClusterPodSequence" || e.kind == "Node" { // which pods are bound already is proof, and not confirmed
			if err := l.tell("Pod", len(l.coming["Pod"])); err != nil {
				return err
			}
		}
		if err := l.take(e.tellEngine(l.engine)); err != nil {
			return err
		}
	}
	return nil
}

// isGrant reports whether the event is one of consent, which the watch of namespaces may bring late. That consent is withdrawn
// the engine is told at once: until then it holds what nobody need hold.
func (l *lateness) isGrant(e event) bool {
	if e.kind == "Namespace" && l.near {
		return true // nobody needs consent: it is the labels that are late
	}
	return e.kind == "Namespace" && l.truth.oracle.consents(MakeSequence("operations", "").TargetNamespace(oracleNamespace).Obj())
}

// isConsentLate reports whether the engine has yet to be told of consent from before the pod was first seen: then the feed does
// not let it go, see FirstSeen.AsksNamespaces.
func (l *lateness) isConsentLate(p *corev1.Pod) bool {
	seen := l.engine.FirstSeen(p)
	return len(l.coming["Namespace"]) > 0 && !inventory.Newer(l.coming["Namespace"][0].object.GetResourceVersion(), seen.Version)
}

// isNamespaceLate reports whether the engine has yet to be told of another label of the pod's namespace. If that is from before the
// pod was first seen, the feed holds the pod; otherwise the pod is older than what would hold it.
func (l *lateness) isNamespaceLate(p *corev1.Pod) bool {
	return l.near && slices.ContainsFunc(l.coming["Namespace"], func(e event) bool { return e.object.GetName() == p.Namespace })
}

// isRequirementLate reports whether the engine has yet to be told that the pod's namespace requires a sequence. Of a namespace that it
// knows and that is the first to require one, it does not ask.
func (l *lateness) isRequirementLate(p *corev1.Pod) bool {
	return slices.ContainsFunc(l.coming["Namespace"], func(e event) bool {
		return e.object.GetName() == p.Namespace && e.object.GetAnnotations()["podsequence.example.com/require-sequence"] == "true"
	})
}

func (e event) version() int {
	if e.object == nil {
		return 0
	}
	return oracleVersion(e.object)
}

// tell tells the engine of the next events of a kind.
func (l *lateness) tell(kind string, n int) error {
	if kind == "Namespace" && n > 0 { // as for sequences
		if err := l.tell("Pod", len(l.coming["Pod"])); err != nil {
			return err
		}
	}
	for _, e := range l.coming[kind][:n] {
		l.log += "    told: " + e.String() + "\n"
		if p, ok := e.object.(*corev1.Pod); ok {
			if delete(l.pods, p.UID); e.verb == verbApply {
				l.pods[p.UID] = p
			}
		}
		if err := l.take(e.tellEngine(l.engine)); err != nil {
			return err
		}
	}
	l.coming[kind] = l.coming[kind][n:]
	return nil
}

// relist breaks the watch of a kind: what it had yet to bring comes as a list.
func (l *lateness) relist(kind string) error {
	delete(l.coming, kind)
	e := event{verb: verbReplace, kind: kind, objects: sorted[metav1.Object](l.randomWorld, kind), asOf: strconv.Itoa(max(1, l.serial))} // no API server lists at version 0
	l.log += "    told: " + e.String() + "\n"
	if kind == "Pod" {
		l.pods = map[types.UID]*corev1.Pod{}
		for _, p := range sorted[*corev1.Pod](l.randomWorld, kind) {
			l.pods[p.UID] = p
		}
	}
	return l.take(e.tellEngine(l.engine))
}

// answer answers as the feed does. Either watches have come past the version of the question; or from lists of what there is: the
// engine is told of events until it has all that is listed, and nothing that is not. Sometimes it is told of more.
func (l *lateness) answer() error {
	questions, oldest := l.questions, l.oldest
	l.questions, l.oldest = Questions{}, map[Subject]int{}
	bySubject := func(a, b Subject) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kinds, b.Kinds))
	}
	for _, subject := range slices.SortedFunc(maps.Keys(questions), bySubject) { // so that a seed always tells the same story
		question := questions[subject]
		moment, byVersion := question.Moment, l.oneIn(2)
		if !byVersion && l.oneIn(2) {
			moment = l.engine.Moment() // all that is listed now was there when the engine was told of the last event
		}
		for _, kind := range kindsOf(subject.Kinds) {
			catchUp := func() error { return l.catchUp(kind, subject.Namespace) }
			if byVersion {
				catchUp = func() error { return l.tellUntil(kind, question.Version) }
			}
			if err := catchUp(); err != nil {
				return err
			}
		}
		l.seen["answers"]++
		l.log += fmt.Sprintf("    answered: %v %d\n", subject, moment)
		if err := l.takeSince(oldest[subject], l.engine.Confirm(subject, moment)); err != nil {
			return err
		}
	}
	return nil
}

// tellUntil tells the engine of a kind what was there at a version.
func (l *lateness) tellUntil(kind, version string) error {
	n := slices.IndexFunc(l.coming[kind], func(e event) bool { return inventory.Newer(e.object.GetResourceVersion(), version) })
	if n < 0 {
		n = len(l.coming[kind])
	}
	return l.tell(kind, n)
}

// catchUp lists a kind, and tells the engine of events until it knows what is listed, and nothing else from before the list.
func (l *lateness) catchUp(kind, namespace string) error {
	if kind == "Namespace" {
		return l.tell(kind, len(l.coming[kind]))
	}
	listed, newestListed, asOf := sets.New[types.UID](), "", strconv.Itoa(l.serial)
	for _, object := range sorted[metav1.Object](l.randomWorld, kind) {
		if namespace != "" && object.GetNamespace() != namespace {
			continue
		}
		listed.Insert(object.GetUID())
		if inventory.Behind(newestListed, object.GetResourceVersion()) {
			newestListed = object.GetResourceVersion()
		}
	}
	missing := func() bool {
		next := l.coming[kind][0].object.GetResourceVersion()
		return (newestListed != "" && !inventory.Newer(next, newestListed)) ||
			len(l.engine.Unlisted(inventory.Kind(kind), namespace, listed, asOf)) > 0
	}
	for len(l.coming[kind]) > 0 && missing() {
		if err := l.tell(kind, 1); err != nil {
			return err
		}
	}
	if gone := l.engine.Unlisted(inventory.Kind(kind), namespace, listed, asOf); len(gone) > 0 {
		return fmt.Errorf("%s %v are known and gone, and no event says so", kind, gone)
	}
	if l.oneIn(4) {
		return l.tell(kind, l.IntN(len(l.coming[kind])+1))
	}
	return nil
}
