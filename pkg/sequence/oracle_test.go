package sequence

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/uuid"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/internal/testing"
)

// oracle answers what the engine answers, in the dumbest way: it keeps whole objects and goes through all of them after
// every operation. It shares nothing with the engine but the API types.
type oracle struct {
	pods      map[string]*corev1.Pod
	sequences map[string]*v1alpha1.PodSequence
	// passes is, for each sequence by UID, the definitions of the groups passed so far.
	passes map[types.UID][]v1alpha1.PodGroup
}

const (
	oracleNamespace = "shop"
	oracleScheduler = "podsequence-scheduler"
)

func (o *oracle) settle() {
	for _, ps := range o.sequences {
		groups := ps.Spec.PodGroups
		passed := 0
		for before := o.passes[ps.UID]; passed < min(len(before), len(groups)) && sameDefinition(before[passed], groups[passed]); {
			passed++
		}
		for _, p := range o.pods {
			if i := o.groupOf(ps, p); i > passed && p.Spec.NodeName != "" && p.Spec.SchedulerName == oracleScheduler {
				passed = i
			}
		}
		for passed < len(groups) && o.satisfied(ps, passed) {
			passed++
		}
		o.passes[ps.UID] = slices.Clone(groups[:passed])
	}
}

func sameDefinition(a, b v1alpha1.PodGroup) bool {
	return sets.New(a.Pods...).Equal(sets.New(b.Pods...)) && reflect.DeepEqual(a.PodSelector, b.PodSelector)
}

func (o *oracle) groupOf(ps *v1alpha1.PodSequence, p *corev1.Pod) int {
	if p.DeletionTimestamp != nil {
		return -1
	}
	for i, g := range ps.Spec.PodGroups {
		if slices.Contains(g.Pods, p.Name) || (g.PodSelector != nil && oracleSelects(g.PodSelector, p.Labels)) {
			return i
		}
	}
	return -1
}

func oracleSelects(selector *v1alpha1.LabelSelector, podLabels labels.Set) bool {
	for key, value := range selector.MatchLabels {
		if have, ok := podLabels[key]; !ok || have != string(value) {
			return false
		}
	}
	for _, e := range selector.MatchExpressions {
		have, ok := podLabels[e.Key]
		in := ok && slices.Contains(e.Values, v1alpha1.LabelValue(have))
		switch e.Operator {
		case v1alpha1.LabelSelectorOpIn:
			ok = in
		case v1alpha1.LabelSelectorOpNotIn:
			ok = !in
		case v1alpha1.LabelSelectorOpDoesNotExist:
			ok = !ok
		}
		if !ok {
			return false
		}
	}
	return true
}

func (o *oracle) satisfied(ps *v1alpha1.PodSequence, i int) bool {
	if names := ps.Spec.PodGroups[i].Pods; len(names) > 0 {
		for _, name := range names {
			if p := o.pods[name]; p == nil || p.DeletionTimestamp != nil || !oracleReady(p) {
				return false
			}
		}
		return true
	}
	members := 0
	for _, p := range o.pods {
		if o.groupOf(ps, p) == i {
			members++
			if !oracleReady(p) {
				return false
			}
		}
	}
	return members > 0
}

func oracleReady(p *corev1.Pod) bool {
	if p.Status.Phase == corev1.PodSucceeded {
		return true
	}
	return p.Status.Phase == corev1.PodRunning && len(p.Status.Conditions) > 0
}

func (o *oracle) held(p *corev1.Pod) bool {
	for _, ps := range o.sequences {
		if o.groupOf(ps, p) > len(o.passes[ps.UID]) {
			return true
		}
	}
	return false
}

// free are the unbound pods that may go, and heldPods those that may not.
func (o *oracle) free() (free, heldPods sets.Set[types.UID]) {
	free, heldPods = sets.New[types.UID](), sets.New[types.UID]()
	for _, p := range o.pods {
		switch {
		case p.Spec.NodeName != "" || p.DeletionTimestamp != nil:
		case o.held(p):
			heldPods.Insert(p.UID)
		default:
			free.Insert(p.UID)
		}
	}
	return free, heldPods
}

// world makes random operations and applies each to the engine and to the oracle.
type world struct {
	*rand.Rand
	engine  *Engine
	oracle  *oracle
	version int
}

func newWorld(seed uint64) *world {
	return &world{
		Rand:   rand.New(rand.NewPCG(seed, 0)),
		engine: NewEngine(Config{SchedulerNames: []string{oracleScheduler}, GatePrefixes: []string{"podsequence.example.com/"}}),
		oracle: &oracle{
			pods: map[string]*corev1.Pod{}, sequences: map[string]*v1alpha1.PodSequence{},
			passes: map[types.UID][]v1alpha1.PodGroup{},
		},
	}
}

func (w *world) podName() string { return "pod-" + strconv.Itoa(w.IntN(9)) }

func (w *world) randomLabels() map[string]string {
	l := map[string]string{}
	for _, key := range []string{"tier", "zone"} {
		if w.IntN(4) > 0 {
			l[key] = string(rune('a' + w.IntN(3)))
		}
	}
	return l
}

func (w *world) randomGroup(s *SequenceWrapper) {
	value := string(rune('a' + w.IntN(3)))
	switch w.IntN(6) {
	case 0, 1:
		names := []string{w.podName(), w.podName(), w.podName()}
		s.Pods("", names[:1+w.IntN(3)]...)
	case 2, 3:
		s.Label("", "tier", value)
	case 4:
		ops := []v1alpha1.LabelSelectorOperator{
			v1alpha1.LabelSelectorOpIn, v1alpha1.LabelSelectorOpNotIn,
			v1alpha1.LabelSelectorOpExists, v1alpha1.LabelSelectorOpDoesNotExist,
		}
		if i := w.IntN(4); i < 2 {
			s.Expression("", "zone", ops[i], value, "b")
		} else {
			s.Expression("", "zone", ops[i])
		}
	default:
		s.Label("", "", "")
	}
}

func (w *world) randomSpec(name string) *SequenceWrapper {
	s := MakeSequence(oracleNamespace, name)
	for range 1 + w.IntN(4) {
		w.randomGroup(s)
	}
	return s
}

// step makes one operation and returns what it was and what the engine says it changed.
func (w *world) step() (string, Changes) {
	w.version++
	rv := strconv.Itoa(w.version)
	name := w.podName()
	p := w.oracle.pods[name].DeepCopy()
	switch w.IntN(24) {
	case 0, 1:
		return w.stepSequence()
	case 2:
		return w.relist()
	}
	if p == nil {
		p = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: oracleNamespace, Name: name, UID: uuid.NewUUID(), Labels: w.randomLabels(),
		}}
		if w.IntN(3) > 0 {
			p.Spec.SchedulerName = oracleScheduler
		}
		if w.IntN(3) == 0 {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
		}
		return w.applyPod("create", p, rv)
	}
	switch w.IntN(8) {
	case 0, 1, 2:
		p.Spec.NodeName, p.Spec.SchedulingGates = "node", nil
		return w.applyPod("bind", p, rv)
	case 3, 4:
		p.Spec.NodeName, p.Spec.SchedulingGates = "node", nil
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		return w.applyPod("make ready", p, rv)
	case 5:
		p.Status = corev1.PodStatus{Phase: []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}[w.IntN(3)]}
		return w.applyPod("make "+string(p.Status.Phase), p, rv)
	case 6:
		if w.IntN(2) == 0 {
			p.Labels = w.randomLabels()
			return w.applyPod("relabel", p, rv)
		}
		p.DeletionTimestamp = &metav1.Time{}
		return w.applyPod("terminate", p, rv)
	default:
		if w.IntN(2) == 0 { // gone and made again, with only the second event seen
			p = p.DeepCopy()
			p.UID, p.Spec.NodeName, p.Status, p.DeletionTimestamp = uuid.NewUUID(), "", corev1.PodStatus{}, nil
			return w.applyPod("replace", p, rv)
		}
		delete(w.oracle.pods, name)
		return "delete " + name, w.engine.RemovePod(p)
	}
}

func (w *world) applyPod(verb string, p *corev1.Pod, rv string) (string, Changes) {
	p.ResourceVersion = rv
	old := w.oracle.pods[p.Name]
	w.oracle.pods[p.Name] = p
	if w.IntN(4) == 0 { // the scheduler may ask about a pod before the engine is told of it
		w.engine.Decide(p)
	}
	changes := w.engine.ApplyPod(p)
	if old != nil && w.IntN(4) == 0 { // an event that comes late must change nothing
		w.engine.ApplyPod(old)
		w.engine.RemovePod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: "another"}})
	}
	return fmt.Sprintf("%s %s %v", verb, p.Name, p.Labels), changes
}

// relist changes several pods behind the engine's back and then tells it of all of them at once, as after a broken
// watch. The states in between were never seen together by anybody.
func (w *world) relist() (string, Changes) {
	for range 1 + w.IntN(4) {
		name := w.podName()
		p := w.oracle.pods[name].DeepCopy()
		if p == nil || w.IntN(5) == 0 {
			p = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: oracleNamespace, Name: name, UID: uuid.NewUUID(), Labels: w.randomLabels(),
			}}
		}
		w.version++
		p.ResourceVersion = strconv.Itoa(w.version)
		p.Status = corev1.PodStatus{}
		if w.IntN(2) == 0 {
			p.Status = corev1.PodStatus{Phase: corev1.PodSucceeded}
		}
		w.oracle.pods[name] = p
		if w.IntN(4) == 0 {
			delete(w.oracle.pods, name)
		}
	}
	return "relist", w.engine.ReplacePods(slices.Collect(maps.Values(w.oracle.pods)))
}

func (w *world) stepSequence() (string, Changes) {
	name := "seq-" + strconv.Itoa(w.IntN(3))
	old := w.oracle.sequences[name]
	switch {
	case old == nil:
		ps := w.randomSpec(name).UID(string(uuid.NewUUID())).Obj()
		w.oracle.sequences[name] = ps
		return fmt.Sprintf("create %s %v", name, ps.Spec.PodGroups), w.engine.ApplySequence(ps)
	case w.IntN(3) == 0:
		delete(w.oracle.sequences, name)
		return "delete " + name, w.engine.RemoveSequence(types.NamespacedName{Namespace: oracleNamespace, Name: name})
	}
	ps := old.DeepCopy()
	ps.Generation++
	switch w.IntN(3) {
	case 0:
		ps.Spec.PodGroups = append(ps.Spec.PodGroups, w.randomSpec(name).Spec.PodGroups[0])
	case 1:
		ps.Spec = w.randomSpec(name).Spec
	default:
		w.Shuffle(len(ps.Spec.PodGroups), func(i, j int) {
			ps.Spec.PodGroups[i], ps.Spec.PodGroups[j] = ps.Spec.PodGroups[j], ps.Spec.PodGroups[i]
		})
	}
	w.oracle.sequences[name] = ps
	return fmt.Sprintf("edit %s %v", name, ps.Spec.PodGroups), w.engine.ApplySequence(ps)
}

// check compares engine and oracle after an operation. heldBefore are the pods that the oracle held before it.
func (w *world) check(changes Changes, heldBefore sets.Set[types.UID]) error {
	for _, p := range w.oracle.pods {
		if p.DeletionTimestamp != nil {
			continue
		}
		if got, want := w.engine.Decide(p).Held, w.oracle.held(p); got != want {
			return fmt.Errorf("%s: held is %t, want %t", p.Name, got, want)
		}
	}
	for name, ps := range w.oracle.sequences {
		report, _ := w.engine.Report(types.NamespacedName{Namespace: oracleNamespace, Name: name})
		if got, want := report.Current, len(w.oracle.passes[ps.UID]); got != want {
			return fmt.Errorf("%s: current group is %d, want %d", name, got, want)
		}
	}

	free, _ := w.oracle.free()
	released := sets.New[types.UID]()
	for _, r := range changes.Released {
		if released.Has(r.UID) {
			return fmt.Errorf("%s is released twice", r.Name)
		}
		released.Insert(r.UID)
	}
	if late := released.Difference(free); late.Len() > 0 {
		return fmt.Errorf("released pods that must wait: %v", late.UnsortedList())
	}
	if missing := heldBefore.Intersection(free).Difference(released); missing.Len() > 0 {
		return fmt.Errorf("did not release pods that may go now: %v", missing.UnsortedList())
	}
	return nil
}

// TestEngineAgreesWithOracle compares every answer of the engine with the oracle's over random histories. It takes
// PODSEQUENCE_ORACLE_STEPS operations, 200,000 if unset; a failure prints the seed and the history that led to it.
func TestEngineAgreesWithOracle(t *testing.T) {
	steps := 200_000
	if text := os.Getenv("PODSEQUENCE_ORACLE_STEPS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("PODSEQUENCE_ORACLE_STEPS: %v", err)
		}
		steps = n
	}
	const perWorld = 200
	for seed := range uint64(steps / perWorld) {
		w := newWorld(seed)
		var history []string
		for range perWorld {
			_, held := w.oracle.free()
			what, changes := w.step()
			w.oracle.settle()
			history = append(history, what)
			if err := w.check(changes, held); err != nil {
				t.Fatalf("seed %d: %v\nafter:\n%s", seed, err, strings.Join(history, "\n"))
			}
		}
	}
}
