package ordercheck

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// TestJudgeAgreesWithItsRuleReadAloud replays random histories in the dumbest way there is: at every resource version
// it looks at the whole world anew. Races and edits are left to the tables; every pod carries the gate, so none is excused.
func TestJudgeAgreesWithItsRuleReadAloud(t *testing.T) {
	early, fine, earlyAcross, lacking := 0, 0, 0, 0
	for seed := range uint64(2000) {
		history := tell(randomSteps(rand.New(rand.NewPCG(seed, 0)))...)
		var got []string
		for _, violation := range Judge(history, JudgeOptions{}).Violations {
			got = append(got, violation.ResourceVersion+" "+violation.Sequence)
			if violation.Kind == v1alpha1.ClusterPodSequenceKind.Kind {
				earlyAcross++
			}
			if violation.Group.Name == "" {
				lacking++
			}
		}
		want, bindings := readAloud(history)
		require.Equal(t, want, got, "seed %d", seed)
		early += len(want)
		fine += bindings - len(want)
	}
	assert.Greater(t, early, 500, "the histories must have something to find")
	assert.Greater(t, earlyAcross, 200, "the histories must have something to find across namespaces")
	assert.Greater(t, lacking, 200, "the histories must have pods that lack the sequence that they require")
	assert.Greater(t, fine, 500, "the histories must have something to leave alone")
}

// randomGraph lets some groups say what they depend on, how many pods they expect, and that nobody waits for them.
func randomGraph(random *rand.Rand, groups []*v1alpha1.PodGroup) {
	for i, g := range groups {
		g.Name = fmt.Sprintf("g%d", i)
		g.Skip = random.IntN(10) == 0
		if g.PodSelector != nil && random.IntN(5) == 0 {
			g.ExpectedPods = int32(1 + random.IntN(3))
		}
		if random.IntN(2) == 0 {
			continue
		}
		g.DependsOn = []string{}
		for before := range i {
			if random.IntN(2) == 0 {
				g.DependsOn = append(g.DependsOn, fmt.Sprintf("g%d", before))
			}
		}
	}
}

func randomSteps(random *rand.Rand) []step {
	// The other namespace is one that no labels select in some histories, and has pods of our own in some of these.
	far := []string{"far", "far", "kube-system", "podsequence-system"}[random.IntN(4)]
	ours := func(p *corev1.Pod) {
		if random.IntN(3) == 0 {
			p.Labels["app.kubernetes.io/name"] = "podsequence"
		}
	}
	least := func(g *v1alpha1.PodGroup) {
		if number := []string{"", "", "1", "50%"}[random.IntN(4)]; number != "" {
			enoughOf(number)(g)
		}
	}
	groups := []sequenceFix{named("p-0"), named("p-1", "p-2"), tier("a", least), tier("b", least), everythingElse}
	random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	first := random.IntN(3)
	graph := func(s *v1alpha1.PodSequence) {
		var all []*v1alpha1.PodGroup
		for i := range s.Spec.PodGroups {
			all = append(all, &s.Spec.PodGroups[i])
		}
		randomGraph(random, all)
		s.Spec.DryRun = random.IntN(10) == 0
	}
	placed := []acrossFix{
		in(named("p-0"), testNamespace), in(named("q-1"), far), in(tier("a", least), far), in(tier("b", least), testNamespace, far),
		inLabelled(tier("a", least), "team", "x"), everywhere(everythingElse),
	}
	random.Shuffle(len(placed), func(i, j int) { placed[i], placed[j] = placed[j], placed[i] })
	graphAcross := func(s *v1alpha1.ClusterPodSequence) {
		var all []*v1alpha1.PodGroup
		for i := range s.Spec.PodGroups {
			all = append(all, &s.Spec.PodGroups[i].PodGroup)
		}
		randomGraph(random, all)
	}
	relabel := func() step {
		space, team, required := []string{testNamespace, far}[random.IntN(2)], []string{"x", "y"}[random.IntN(2)], random.IntN(6) == 0
		return namespaceThat(space, required, "team", team)
	}
	named := []podEdit{func(*corev1.Pod) {}, func(*corev1.Pod) {}, func(*corev1.Pod) {}, naming("one"), naming("late"), naming("never")}
	steps := []step{
		[]step{installed, installed, defined}[random.IntN(3)],
		relabel(), relabel(),
		order("one", groups[:2+first]...),
		order("two", append(groups[first:], graph)...),
		across("three", append(placed[:3+random.IntN(4)], graphAcross)...),
	}
	for i := range 60 {
		space, letter := testNamespace, "p"
		if random.IntN(3) == 0 {
			space, letter = far, "q"
		}
		name := fmt.Sprintf("%s-%d", letter, random.IntN(7))
		label, names := alsoLabelled("tier", []string{"a", "b", "c"}[random.IntN(3)]), named[random.IntN(len(named))]
		owned := func(*corev1.Pod) {}
		if random.IntN(2) == 0 {
			owned = of([]string{letter + "-set-0", letter + "-set-1", letter, "unknown"}[random.IntN(4)])
		}
		aside := func(*corev1.Pod) {}
		if (i+first)%9 == 0 {
			aside = ofHook([]string{"pre-delete", "test", "post-install"}[i%3])
		}
		kept := func(*corev1.Pod) {}
		if random.IntN(10) == 0 {
			kept = static
		}
		roll, replicas := random.IntN(17), int32(random.IntN(3))
		relabelled := relabel()
		steps = append(steps, inside(space, func(s *story) {
			_, exists := s.pods[name]
			_, known := s.sequences["late"]
			switch {
			case roll == 16 && !known && i > 30:
				order("late", withLabel("tier", "nobody"))(s)
			case roll == 15:
				statefulSet(letter, []string{"a", "b"}[replicas%2], replicas+1, goingOut)(s)
			case roll == 14:
				statefulSet(letter, []string{"a", "b"}[replicas%2], replicas+1, setIsGone)(s)
			case roll == 13:
				relabelled(s)
				passing(3 * time.Second)(s) // or what a scheduler may not have seen would excuse something
			case roll == 12:
				statefulSet(letter, []string{"a", "b"}[replicas%2], replicas+1)(s)
			case roll == 11:
				ownReplicaSet(fmt.Sprintf("%s-set-%d", letter, replicas%2), []string{"a", "b"}[replicas%2], replicas)(s)
			case !exists:
				create(name, gated, label, names, owned, ours, aside, kept)(s)
			case roll < 2:
				bind(name)(s)
			case roll < 6:
				ready(name)(s)
			case roll < 7:
				unready(name)(s)
			case roll < 8:
				terminate(name)(s)
			case roll < 9:
				remove(name)(s)
			case roll < 10:
				edit(name, failed)(s)
			default:
				edit(name, label)(s)
				passing(3 * time.Second)(s) // likewise
			}
		}))
	}
	return steps
}

// aloud is the whole world, to be looked at anew at every resource version.
type aloud struct {
	pods      map[types.NamespacedName]*podFacts
	workloads map[types.UID]*workloadFacts
	spaces    map[string]labels.Set
	passed    map[string]sets.Set[int]
	// lost are, by sequence, the pods without a controller that failed and were deleted while it selected them.
	lost map[string]map[types.NamespacedName]*podFacts
	// installed says that the kind is, requiring which namespaces require a sequence.
	installed bool
	requiring sets.Set[string]
}

// readAloud returns "resource version, sequence" for each violation, and how many questions it asked.
func readAloud(history History) (violations []string, asked int) {
	w := aloud{
		map[types.NamespacedName]*podFacts{}, map[types.UID]*workloadFacts{}, map[string]labels.Set{}, map[string]sets.Set[int]{},
		map[string]map[types.NamespacedName]*podFacts{}, false, sets.New[string](),
	}
	var sequences []*sequenceFacts
	for _, e := range history.events {
		switch {
		case e.sequence != nil:
			sequences = append(sequences, e.sequence)
			w.passed[e.sequence.Name] = sets.New[int]()
			w.lost[e.sequence.Name] = map[types.NamespacedName]*podFacts{}
		case e.workload != nil && e.deleted:
			delete(w.workloads, e.workload.uid)
		case e.workload != nil:
			w.workloads[e.workload.uid] = e.workload
		case e.definition != nil:
			w.installed = e.definition.installed
		case e.home != nil:
			w.spaces[e.home.name] = e.home.labels
			if w.requiring.Delete(e.home.name); e.home.required {
				w.requiring.Insert(e.home.name)
			}
			for _, s := range sequences {
				for name, p := range w.lost[s.Name] {
					if w.lostFrom(s, p) < 0 {
						delete(w.lost[s.Name], name)
					}
				}
			}
		default:
			w.lose(sequences, e)
			before := w.pods[e.pod.NamespacedName]
			bound := e.pod.node != "" && (before == nil || before.node == "") && !e.deleted && !e.pod.terminating
			for _, missing := range w.lacks(sequences, e.pod) {
				if bound && before != nil {
					asked++
					violations = append(violations, e.revision.String()+" "+missing)
				}
			}
			for _, s := range sequences {
				group := w.groupOf(s, e.pod)
				if !bound || group < 0 || s.dryRun || e.pod.static {
					continue
				}
				asked++
				if !w.isOpen(s, group) {
					violations = append(violations, e.revision.String()+" "+s.String())
				}
			}
			w.pods[e.pod.NamespacedName] = e.pod
			if e.deleted {
				delete(w.pods, e.pod.NamespacedName)
			}
		}
		for _, s := range sequences {
			for group := range s.groups {
				if w.isOpen(s, group) && w.satisfied(s, group) {
					w.passed[s.Name].Insert(group)
				}
			}
		}
	}
	return violations, asked
}

// lacks names what requires a sequence that is not there: the sequence itself, or the namespace.
func (w aloud) lacks(sequences []*sequenceFacts, p *podFacts) (missing []string) {
	if !w.installed || oursAloud(p.Namespace, p.labels) || w.asideAloud(p) {
		return nil
	}
	name := p.labels[v1alpha1.SequenceLabel]
	named := slices.ContainsFunc(sequences, func(s *sequenceFacts) bool { return s.String() == p.Namespace+"/"+name })
	if name != "" && !named {
		missing = append(missing, p.Namespace+"/"+name)
	}
	has := slices.ContainsFunc(sequences, func(s *sequenceFacts) bool { return w.groupOf(s, p) >= 0 })
	if w.requiring.Has(p.Namespace) && !has {
		missing = append(missing, p.Namespace)
	}
	return missing
}

// lose notes a pod that failed and goes, and ends that when there is another one of its name.
func (w aloud) lose(sequences []*sequenceFacts, e event) {
	before := w.pods[e.pod.NamespacedName]
	for _, s := range sequences {
		goes := before != nil && before.uid == e.pod.uid && (e.deleted || e.pod.terminating)
		switch {
		case goes && before.failed && !before.terminating && before.owner.uid == "":
			if w.lostFrom(s, before) >= 0 {
				w.lost[s.Name][before.NamespacedName] = before
			}
		case !e.deleted && !e.pod.terminating:
			delete(w.lost[s.Name], e.pod.NamespacedName)
		}
	}
}

// lostFrom is the group by label that loses a pod, or -1: a group by name expects the name anyway.
func (w aloud) lostFrom(s *sequenceFacts, p *podFacts) int {
	if slices.ContainsFunc(s.groups, func(g groupFacts) bool { return slices.Contains(g.names, p.Name) && w.livesIn(g, p.Namespace) }) {
		return -1
	}
	return w.groupOf(s, p)
}

// isOpen asks every group that a group depends on, and those ask theirs.
func (w aloud) isOpen(s *sequenceFacts, group int) bool {
	for before := range group {
		g := s.groups[group]
		if g.dependsOn != nil && !slices.Contains(g.dependsOn, s.groups[before].name) {
			continue
		}
		if !w.passed[s.Name].Has(before) && !s.groups[before].skip || !w.isOpen(s, before) {
			return false
		}
	}
	return true
}

func (w aloud) livesIn(g groupFacts, namespace string) bool {
	bySelector := g.home.selector != nil && g.home.selector.Matches(w.spaces[namespace])
	return slices.Contains(g.home.names, namespace) || bySelector && namespace != "kube-system" && namespace != "podsequence-system"
}

func oursAloud(namespace string, l map[string]string) bool {
	return namespace+" "+l["app.kubernetes.io/name"] == "podsequence-system podsequence"
}

func (w aloud) groupOf(s *sequenceFacts, p *podFacts) int {
	if oursAloud(p.Namespace, p.labels) {
		return -1
	}
	return slices.IndexFunc(s.groups, func(g groupFacts) bool {
		return w.livesIn(g, p.Namespace) && g.takes(p) && (g.selector == nil || !w.asideAloud(p))
	})
}

// asideAloud looks for the mark of a hook on a pod, or on what owns it.
func (w aloud) asideAloud(p *podFacts) bool {
	owner := w.workloads[p.owner.uid]
	return p.aside || owner != nil && owner.aside
}

// wantedAloud lists the names that a StatefulSet gives its pods.
func wantedAloud(set *workloadFacts, name string) bool {
	var names []string
	for i := range set.expected {
		names = append(names, fmt.Sprintf("%s-%d", set.Name, i))
	}
	return set.kind != "StatefulSet" || slices.Contains(names, name)
}

func (w aloud) satisfied(s *sequenceFacts, group int) bool {
	g := s.groups[group]
	up := func(p *podFacts) bool {
		return p != nil && p.ready && !p.terminating && !oursAloud(p.Namespace, p.labels)
	}
	for _, name := range g.names {
		if !up(w.pods[types.NamespacedName{Namespace: g.home.names[0], Name: name}]) {
			return false
		}
	}
	if g.selector == nil {
		return true
	}
	homeOf := func(set *workloadFacts) int {
		if oursAloud(set.Namespace, set.template) {
			return -1
		}
		return slices.IndexFunc(s.groups, func(g groupFacts) bool {
			return w.livesIn(g, set.Namespace) && g.selector != nil && g.selector.Matches(set.template)
		})
	}
	asked, have, things, allHave := 0, 0, 0, true
	for _, p := range w.lost[s.Name] {
		if w.lostFrom(s, p) == group {
			things, asked, allHave = things+1, asked+1, false
		}
	}
	for uid, set := range w.workloads {
		if homeOf(set) != group {
			continue
		}
		if set.terminating {
			return false
		}
		claimed, got := sets.New[string](), 0
		for _, p := range w.pods {
			switch at := w.groupOf(s, p); {
			case p.owner.uid != uid || p.terminating || p.failed || at < 0 || !wantedAloud(set, p.Name):
			case at < group:
				claimed.Insert(p.Name)
			case at == group && up(p):
				got++
			}
		}
		for _, earlier := range s.groups[:group] {
			for _, name := range earlier.names {
				if set.kind == "StatefulSet" && wantedAloud(set, name) && w.livesIn(earlier, set.Namespace) {
					claimed.Insert(name)
				}
			}
		}
		need := max(0, set.expected-claimed.Len())
		things, asked, have, allHave = things+1, asked+need, have+min(need, got), allHave && got >= need
	}
	for _, p := range w.pods {
		set := w.workloads[p.owner.uid]
		if w.groupOf(s, p) != group || p.terminating || set != nil && homeOf(set) == group || p.owner.uid != "" && p.failed && !p.static {
			continue
		}
		things, asked, allHave = things+1, asked+1, allHave && up(p)
		if up(p) {
			have++
		}
	}
	switch g.enough.text {
	case "1":
		return have >= 1
	case "50%":
		return things > 0 && 2*have >= max(asked, g.atLeast)
	}
	return things > 0 && allHave && have >= g.atLeast
}

// BenchmarkJudge replays a rollout of ten thousand pods in ten groups.
func BenchmarkJudge(b *testing.B) {
	var groups []sequenceFix
	var steps []step
	for group := range 10 {
		label := fmt.Sprintf("g%d", group)
		groups = append(groups, matching("tier", "In", "other", v1alpha1.LabelValue(label)))
		for i := range 1000 {
			steps = append(steps, create(fmt.Sprintf("p-%d-%d", group, i), labelled("tier", label)))
		}
	}
	for group := range 10 {
		for i := range 1000 {
			name := fmt.Sprintf("p-%d-%d", group, i)
			steps = append(steps, bind(name), edit(name, isNow(corev1.ConditionTrue)))
		}
	}
	history := tell(append([]step{order("s", groups...)}, steps...)...)
	for b.Loop() {
		if verdict := Judge(history, JudgeOptions{}); len(verdict.Violations) > 0 {
			b.Fatal(verdict.Violations[0])
		}
	}
}
