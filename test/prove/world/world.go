// Package world invents what happens in a world, from one number: namespaces and nodes that come and go, workloads of all
// kinds, sequences of both kinds and scopes, edits of all of them, and what fails meanwhile. The same number gives the
// same plan.
//
// The first objects come in any order, so that there are pods before their sequences, too. Some of those name a sequence that is there,
// comes late, goes and comes again, or never comes, and some namespaces require one. Then they are edited, while
// programs are killed. At the end what keeps pods from being ready is put right, as operators would, so that most pods
// may run at last and the judge has something to ask for.
package world

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/test/prove/plan"
)

// When things happen in a plan.
const (
	createdBy = 6 * time.Second  // all first objects are there
	editsFrom = 3 * time.Second  // the first edit at the earliest
	editsTo   = 15 * time.Second // the last one
	healAt    = 16 * time.Second // what keeps pods from being ready is put right
)

// Options say what kind of plans to invent.
type Options struct {
	// WithoutFaults leaves out faults: programs are left alone.
	WithoutFaults bool
	// RealNodes are the names of nodes with kubelets and containers, which are there before the world.
	RealNodes []string
}

// world is one that is being invented.
type world struct {
	dice
	script
	joining    joining
	kubelets   kubelets
	awaited    awaited
	options    Options
	prefix     string
	namespaces []string
	nodes      []*node
	apps       []*app
	sequences  []*sequence
	tiers      []string
}

// Invent returns the plan of a seed.
func Invent(seed uint64, options Options) *plan.Plan {
	w := &world{dice: newDice(seed), script: script{&plan.Plan{Seed: seed}}, options: options, prefix: Prefix(seed)}
	w.joining = joining{dice: newDice(^seed), world: w}
	w.kubelets = kubelets{dice: newDice(seed ^ kubeletSeed), world: w}
	w.awaited = awaited{dice: newDice(seed ^ awaitedSeed), world: w}
	w.kubelets.boots, w.awaited.wanted = w.kubelets.chance(30), w.awaited.chance(30)
	w.tiers = []string{"a", "b", "c", "d"}[:w.between(2, 4)]
	w.inventNamespaces()
	w.inventNodes()
	w.inventApps()
	w.inventSequences()
	w.joining.invent()
	w.awaited.invent()
	w.inventEdits()
	w.joining.editRequirement()
	w.makeEverythingReady()
	if !options.WithoutFaults {
		faults{w}.invent()
		w.kubelets.inventBoots()
		faults{w}.inventClock()
	}
	w.plan.Sort()
	return w.plan
}

// Prefix begins the names of all namespaces, nodes and ClusterPodSequences of a seed, but for the dash behind it.
func Prefix(seed uint64) string { return fmt.Sprintf("p%d", seed) }

// SeedLabel is on the nodes and namespaces of a world, and the pods of a world select nodes by it.
const SeedLabel = "prove.podsequence.example.com/seed"

// zoneLabel is on some nodes and namespaces.
const zoneLabel = "zone"

func (w *world) inventNamespaces() {
	for i := range one(w.dice, 1, 1, 2, 2, 3) { // few, so that sequences meet many pods
		name := fmt.Sprintf("%s-%c", w.prefix, 'x'+rune(i))
		w.namespaces = append(w.namespaces, name)
		namespace := &corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{SeedLabel: w.prefix}},
		}
		if w.chance(50) {
			namespace.Labels[zoneLabel] = "in"
		}
		if w.chance(50) {
			namespace.Annotations = map[string]string{allowAnnotation: "*"}
		}
		namespace.Annotations = w.joining.annotate(namespace.Annotations)
		w.create(0, "Namespace", namespace)
	}
}

func (w *world) inventNodes() {
	for i := range w.between(2, 4) {
		n := &node{name: fmt.Sprintf("%s-n%d", w.prefix, i)}
		n.labels = map[string]string{corev1.LabelHostname: n.name, corev1.LabelOSStable: "linux", SeedLabel: w.prefix, zoneLabel: one(w.dice, "in", "out")}
		w.nodes = append(w.nodes, n)
		at := time.Duration(0)
		if i > 0 && w.chance(25) { // an autoscaler brings it
			at = w.moment(time.Second, editsTo)
		}
		w.create(at, "Node", n.object())
	}
	w.inventRealNodes()
}

// inventRealNodes gives real nodes to the world. They are there already, and stay when it is gone.
func (w *world) inventRealNodes() {
	for _, name := range w.options.RealNodes {
		n := &node{name: name, real: true, labels: map[string]string{SeedLabel: w.prefix, zoneLabel: one(w.dice, "in", "out")}}
		w.nodes = append(w.nodes, n)
		w.patch(0, "Node", "", name, object{"metadata": object{"labels": n.labels}})
	}
}

func (w *world) inventApps() {
	for i := range w.between(10, 18) {
		a := &app{kind: one(w.dice, kinds...), namespace: one(w.dice, w.namespaces...), tier: one(w.dice, w.tiers...)}
		if a.kind == "DaemonSet" && w.chance(60) {
			a.tier = w.tiers[0] // as drivers are
		}
		a.name = fmt.Sprintf("%s%d", a.tier, i)
		a.replicas = one[int32](w.dice, 0, 1, 2, 2, 3, 4)
		a.template = a.inventTemplate(w)
		w.apps = append(w.apps, a)
		w.create(w.moment(0, createdBy), a.kind, a.object())
	}
}

func (w *world) inventSequences() {
	for i := range one(w.dice, 1, 1, 2, 2, 3) { // more would often hold each other's pods for ever
		w.inventSequence(one(w.dice, w.namespaces...), fmt.Sprintf("s%d", i))
	}
	if w.chance(40) {
		w.inventSequence("", w.prefix+"-c")
	}
}

func (w *world) inventSequence(namespace, name string) {
	s := newSequence(w, namespace, name)
	w.sequences = append(w.sequences, s)
	latest := one(w.dice, time.Second, createdBy) // many are there before their pods, as users have it
	w.create(w.moment(0, latest), s.kind(), s.object())
}

// hasTier reports whether there are apps of a tier in a namespace, or anywhere if that is empty.
func (w *world) hasTier(namespace, tier string) bool {
	return slices.ContainsFunc(w.apps, func(a *app) bool { return a.tier == tier && (namespace == "" || a.namespace == namespace) })
}

// namesOf are some names of pods of a tier; seldom one of them will never exist.
func (w *world) namesOf(namespace, tier string) []string {
	var names []string
	for _, a := range w.apps {
		if a.namespace == namespace && a.tier == tier {
			names = append(names, some(w.dice, 80, a.podNames())...)
		}
	}
	if len(names) > 0 && w.chance(5) {
		names = append(names, "nobody")
	}
	return names
}

func (w *world) inventEdits() {
	for range w.between(4, 14) {
		at := w.moment(editsFrom, editsTo)
		switch choice := w.IntN(20); {
		case choice < 10:
			one(w.dice, w.apps...).edit(w, at)
		case choice < 16:
			one(w.dice, w.sequences...).edit(w, at)
		case choice < 18:
			one(w.dice, w.nodes...).edit(w, at)
		case choice < 19:
			w.restore(at)
		default:
			w.editNamespace(at)
		}
	}
}

// editNamespace changes what sequences make of a namespace.
func (w *world) editNamespace(at time.Duration) {
	name := one(w.dice, w.namespaces...)
	metadata := object{"labels": object{zoneLabel: one[any](w.dice, "in", nil)}}
	if w.chance(40) {
		metadata = object{"annotations": object{allowAnnotation: one[any](w.dice, "*", nil)}}
	}
	w.patch(at, "Namespace", "", name, object{"metadata": metadata})
}

// restore deletes and recreates everything in a namespace, as tools restore a backup: pods first, then workloads, and custom
// resources last. They have other UIDs then, and sequences no status.
func (w *world) restore(at time.Duration) {
	namespace := one(w.dice, w.namespaces...)
	var pods, workloads []*app
	for _, a := range w.apps {
		switch {
		case a.namespace != namespace:
		case a.kind == "Pod":
			pods = append(pods, a)
		default:
			workloads = append(workloads, a)
		}
	}
	for _, s := range w.sequences {
		if s.namespace == namespace {
			w.remove(at, s.kind(), s.namespace, s.name)
		}
	}
	for _, a := range append(workloads, pods...) {
		w.remove(at, a.kind, a.namespace, a.name)
	}
	at += 2 * time.Second
	for i, a := range append(pods, workloads...) {
		w.create(at+time.Duration(i)*50*time.Millisecond, a.kind, a.object())
	}
	for _, s := range w.sequences {
		if s.namespace == namespace {
			w.create(at+w.moment(time.Second, 2*time.Second), s.kind(), s.object())
		}
	}
}

// makeEverythingReady makes all pods ready that are not, after it has replaced most of those that fail.
func (w *world) makeEverythingReady() {
	for _, a := range w.apps {
		if _, fails := a.template.Annotations[failAfter]; fails && w.chance(70) {
			w.makeAgainWithout(a, failAfter)
		}
	}
	w.kubelets.heal()
	for _, namespace := range w.namespaces {
		w.add(healAt+2*time.Second, plan.PatchPods, object{"metadata": object{"annotations": object{readyAfter: "0s"}}}, namespace, tierLabel)
	}
	for _, n := range w.nodes {
		w.patch(healAt, "Node", "", n.name, object{"spec": object{"unschedulable": nil}})
	}
}

// makeAgainWithout replaces an app by one whose pods lack an annotation.
func (w *world) makeAgainWithout(a *app, annotation string) {
	w.remove(healAt, a.kind, a.namespace, a.name)
	again := *a
	again.template = *a.template.DeepCopy()
	delete(again.template.Annotations, annotation)
	w.create(healAt+time.Second, a.kind, again.object())
}
