package sequence

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence/report"
)

// The tests compare every answer of the engine with the oracle's over random histories. Together they take
// PODSEQUENCE_ORACLE_STEPS events. A failure prints a seed, and the shortest history found that fails.
// With -v they tell how often the worlds came into states that matter.

// Without PODSEQUENCE_ORACLE_STEPS the histories have so many events, which takes some ten seconds, or with -short a few. After a
// change of a rule, run two million.
const (
	defaultSteps = 30_000
	shortSteps   = 5_000
)

// oracleSteps returns how many events random histories have in all.
func oracleSteps(t *testing.T) int {
	if testing.Short() {
		return envInt(t, "PODSEQUENCE_ORACLE_STEPS", shortSteps)
	}
	return envInt(t, "PODSEQUENCE_ORACLE_STEPS", defaultSteps)
}

func TestEngineAgreesWithOracle(t *testing.T)            { compare(t, everything) }
func TestEngineAgreesWithOracleOnPods(t *testing.T)      { compare(t, podsOnly) }
func TestEngineAgreesWithOracleOnWorkloads(t *testing.T) { compare(t, workloadsInCluster) }
func TestEngineAgreesWithOracleOnNodes(t *testing.T)     { compare(t, nodesOnly) }
func TestEngineAgreesWithOracleOverTime(t *testing.T)    { compare(t, overTime) }

func TestEngineAgreesWithOracleAcrossNamespaces(t *testing.T) { compare(t, acrossNamespaces) }
func TestEngineAgreesWithOracleAcrossNamespacesOnNodes(t *testing.T) {
	compare(t, acrossNamespacesOnNodes)
}
func TestEngineAgreesWithOracleAcrossNamespacesOverTime(t *testing.T) {
	compare(t, acrossNamespacesOverTime)
}

func compare(t *testing.T, theme theme) {
	t.Parallel()
	steps := oracleSteps(t) / 8
	const perWorld = 250
	seen := counters{}
	for seed := range uint64(max(1, steps/perWorld)) {
		if only := envInt(t, "PODSEQUENCE_ORACLE_SEED", -1); only >= 0 && seed != uint64(only) {
			continue
		}
		w, c := newRandomWorld(seed, theme), newComparison(seen)
		var history []event
		for len(history) < perWorld {
			for _, e := range w.step(c) {
				history = append(history, e)
				if err := c.do(e); err != nil {
					history, err = shrink(history, c.oracle.definitions, err)
					t.Fatalf("seed %d: %v\nafter:\n%s", seed, err, tell(history))
				}
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%7d %s", seen[what], what)
	}
}

func envInt(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func tell(history []event) string {
	lines := make([]string, len(history))
	for i, e := range history {
		lines[i] = e.String()
	}
	return strings.Join(lines, "\n")
}

// shrink leaves events out of a history as long as it still fails, for a few seconds.
func shrink(history []event, definitions map[string]string, err error) ([]event, error) {
	fails := func(history []event) error {
		c := newComparison(counters{})
		c.oracle.definitions = definitions
		for _, e := range history {
			if err := c.do(e); err != nil {
				return err
			}
		}
		return nil
	}
	const patience = 5 * time.Second
	begin := time.Now()
	for size := len(history) / 2; size > 0 && time.Since(begin) < patience; {
		smaller := false
		for from := 1; from+size <= len(history); {
			candidate := slices.Concat(history[:from], history[from+size:])
			if still := fails(candidate); still != nil {
				history, err, smaller = candidate, still, true
			} else {
				from += size
			}
		}
		if size > 1 || !smaller {
			size /= 2
		}
	}
	for i, e := range history { // the same with the objects of a list
		for j := 0; j < len(e.objects); {
			candidate := slices.Clone(history)
			candidate[i].objects = slices.Delete(slices.Clone(candidate[i].objects), j, j+1)
			if still := fails(candidate); still != nil && time.Since(begin) < patience {
				history, e, err = candidate, candidate[i], still
			} else {
				j++
			}
		}
	}
	return history, err
}

// counters tells how often worlds came into states that matter. Tests run beside each other, each with its own.
type counters map[string]int

// comparison is an engine and an oracle that are told the same.
type comparison struct {
	engine recording
	oracle *oracle
	hashes map[string]string // by definition
	seen   counters
	before answers
	last   event
	// untried are the pods to which a node opened and that were not released again since, by when that was.
	untried map[types.UID]time.Time
	// previous are the pods as they were before the event.
	previous map[types.UID]*corev1.Pod
}

// answers is what both sides said of everything after an event.
type answers struct {
	pods    map[types.UID]podAnswer
	nodes   sets.Set[string]
	reports map[string]report.Report
	current map[string][]string // of each sequence what the oracle says of its groups
	wake    time.Time
}

// podAnswer is what the oracle says of a pod that waits to be bound.
type podAnswer struct {
	held, liftable bool
	// suits are the nodes that it may ask for, and open those that every order lets it go to.
	// anywhere reports whether it may be scheduled to nodes that nobody knows.
	suits, open sets.Set[string]
	anywhere    bool
}

func newComparison(seen counters) *comparison {
	c := &comparison{hashes: map[string]string{}, seen: seen}
	c.restart()
	return c
}

func (c *comparison) restart() {
	definitions := map[string]string{}
	if c.oracle != nil {
		definitions = c.oracle.definitions
	}
	c.engine, c.untried = newEngineWith(oracleUnprobedReady), map[types.UID]time.Time{}
	c.oracle = newOracle(definitions)
	c.oracle.settle()
	c.before = c.ask()
}

// do tells both sides of an event and compares what they make of it.
func (c *comparison) do(e event) error {
	c.last, c.previous = e, map[types.UID]*corev1.Pod{}
	for _, p := range c.oracle.pods {
		c.previous[p.UID] = p
	}
	if e.verb == verbRestart {
		c.restart()
		return nil
	}
	// The scheduler may ask about a pod before the engine is told of it.
	if p, ok := e.object.(*corev1.Pod); ok && e.askFirst && c.oracle.isNews("Pod", p) && p.Spec.NodeName == "" && p.DeletionTimestamp == nil {
		got, want := c.engine.Decide(p).Held, c.oracle.held(p)
		if got != want && !(got && c.oracle.mayBreak(p)) { // where groups may break, it waits until it is told
			return fmt.Errorf("%s, not yet told of: held is %t, want %t", p.Name, got, want)
		}
		verdict := c.engine.Verdict(p).Held // may hold it because it is not seen yet, and then reports its release
		if got && !verdict {
			return fmt.Errorf("%s, not yet told of: must wait, and the verdict is that it need not", p.Name)
		}
		answer := c.before.pods[p.UID]
		answer.held = answer.held || verdict
		c.before.pods[p.UID] = answer
	}
	changes := e.tellEngine(c.engine)
	e.tellOracle(c.oracle)
	c.oracle.settle()
	before := c.before
	c.before = c.ask()
	c.count()
	for _, check := range []func() error{
		c.checkPods, c.checkReports, c.checkCircles, c.checkDryRuns, c.checkStarts, c.checkConsent, func() error { return checkPublished(c.engine.Engine) }, func() error { return checkSums(c.engine.Engine) },
		func() error { return c.checkReleased(changes, before, c.before) },
		func() error { return c.checkNominations(changes, before, c.before) },
		func() error { return c.checkSequences(changes, before, c.before) },
		func() error { return c.checkWake(e, changes, before, c.before) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// ask asks both sides about everything.
func (c *comparison) ask() answers {
	a := answers{
		pods: map[types.UID]podAnswer{}, reports: map[string]report.Report{}, current: map[string][]string{},
		nodes: sets.KeySet(c.oracle.objects["Node"]), wake: c.engine.NextWake(),
	}
	for _, p := range c.oracle.pods {
		if p.Spec.NodeName != "" || p.DeletionTimestamp != nil {
			continue
		}
		answer := podAnswer{
			held: c.oracle.held(p), liftable: c.oracle.liftable(p), anywhere: c.oracle.mayPlace(p, "unknown"),
			suits: sets.New[string](), open: sets.New[string](),
		}
		for _, node := range c.oracle.nodes {
			if c.oracle.mayPlace(p, node.Name) {
				answer.open.Insert(node.Name)
			}
			if c.oracle.mayAsk(p, node.Name) {
				answer.suits.Insert(node.Name)
			}
		}
		a.pods[p.UID] = answer
	}
	for name, v := range c.oracle.views {
		a.reports[name], _ = c.engine.Report(types.NamespacedName{Namespace: v.Namespace, Name: name})
		for i := range v.Spec.PodGroups {
			for node, course := range v.courses {
				if course.mayStart(i) && (node == "" || c.oracle.node(node) != nil) {
					a.current[name] = append(a.current[name], fmt.Sprint(node, i))
				}
			}
		}
		slices.Sort(a.current[name])
	}
	return a
}
