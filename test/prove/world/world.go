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
	"encoding/json"
	"fmt"
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
	// Without leaves out faults: programs are left alone.
	WithoutFaults bool
	// RealNodes are the names of nodes with kubelets and containers, which are there before the world.
	RealNodes []string
}

// world is one that is being invented.
type world struct {
	dice
	joining    dice
	kubelets   dice
	awaited    dice
	awaits     bool // groups wait for objects
	options    Options
	boots      bool // of simulated nodes
	plan       *plan.Plan
	prefix     string
	namespaces []string
	nodes      []*node
	apps       []*app
	sequences  []*sequence
	late       *sequence // that pods may name; nil if there is none
	tiers      []string
}

// Invent returns the plan of a seed.
func Invent(seed uint64, options Options) *plan.Plan {
	w := &world{dice: newDice(seed), joining: newDice(^seed), kubelets: newDice(seed ^ kubeletSeed), awaited: newDice(seed ^ awaitedSeed), options: options,
		plan: &plan.Plan{Seed: seed}, prefix: Prefix(seed)}
	w.boots, w.awaits = w.kubelets.chance(30), w.awaited.chance(30)
	w.tiers = []string{"a", "b", "c", "d"}[:w.between(2, 4)]
	w.inventNamespaces()
	w.inventNodes()
	w.inventApps()
	w.inventSequences()
	w.inventJoining()
	w.inventAwaited()
	w.inventEdits()
	w.editRequirement()
	w.makeEverythingReady()
	if !options.WithoutFaults {
		w.inventFaults()
		w.inventBoots()
		w.inventClock()
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

func (w *world) add(at time.Duration, verb plan.Verb, body any, args ...string) {
	step := plan.Step{At: at, Verb: verb, Args: args}
	if body != nil {
		step.Body = encode(body)
	}
	w.plan.Steps = append(w.plan.Steps, step)
}

// create adds a step that creates an object.
func (w *world) create(at time.Duration, kind string, object metav1.Object) {
	w.add(at, plan.Create, object, kind, nameOf(object.GetNamespace(), object.GetName()))
}

// patch adds a step that patches one.
func (w *world) patch(at time.Duration, kind, namespace, name string, body any) {
	w.add(at, plan.Patch, body, kind, nameOf(namespace, name))
}

func (w *world) remove(at time.Duration, kind, namespace, name string) {
	w.add(at, plan.Delete, nil, kind, nameOf(namespace, name))
}

// removeAs makes the garbage collector delete what an object owns before it, after it, or not at all.
func (w *world) removeAs(at time.Duration, policy metav1.DeletionPropagation, kind, namespace, name string) {
	w.add(at, plan.DeleteAs, nil, string(policy), kind, nameOf(namespace, name))
}

func nameOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// object is a part of a patch.
type object = map[string]any

func encode(body any) string {
	content, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", body, err)) // all that is encoded was made here
	}
	return string(content)
}

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
		namespace.Annotations = w.inventRequirement(namespace.Annotations)
		w.create(0, "Namespace", namespace)
	}
}
