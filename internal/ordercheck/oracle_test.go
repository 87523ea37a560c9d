package ordercheck

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// TestJudgeAgreesWithItsRuleReadAloud replays random histories in the dumbest way there is: at every resource version
// it looks at the whole world anew. Races and edits are left to the tables; every pod carries the gate, so none is excused.
func TestJudgeAgreesWithItsRuleReadAloud(t *testing.T) {
	early, fine := 0, 0
	for seed := range uint64(2000) {
		history := tell(randomSteps(rand.New(rand.NewPCG(seed, 0)))...)
		var got []string
		for _, violation := range Judge(history, JudgeOptions{}).Violations {
			got = append(got, violation.ResourceVersion+" "+violation.Sequence)
		}
		want, bindings := readAloud(history)
		require.Equal(t, want, got, "seed %d", seed)
		early += len(want)
		fine += bindings - len(want)
	}
	assert.Greater(t, early, 500, "the histories must have something to find")
	assert.Greater(t, fine, 500, "the histories must have something to leave alone")
}

func randomSteps(random *rand.Rand) []step {
	least := func(g *v1alpha1.PodGroup) {
		if number := []string{"", "", "1", "50%"}[random.IntN(4)]; number != "" {
			enoughOf(number)(g)
		}
	}
	groups := []sequenceFix{named("p-0"), named("p-1", "p-2"), tier("a", least), tier("b", least), everythingElse}
	random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	first := random.IntN(3)
	steps := []step{
		order("one", groups[:2+first]...),
		order("two", groups[first:]...),
	}
	for range 60 {
		name := fmt.Sprintf("p-%d", random.IntN(7))
		label := labelled("tier", []string{"a", "b", "c"}[random.IntN(3)])
		owned := func(*corev1.Pod) {}
		if random.IntN(2) == 0 {
			owned = of([]string{"set-0", "set-1", "p", "unknown"}[random.IntN(4)])
		}
		roll, replicas := random.IntN(13), int32(random.IntN(3))
		steps = append(steps, func(s *story) {
			_, exists := s.pods[name]
			switch {
			case roll == 12:
				statefulSet("p", []string{"a", "b"}[replicas%2], replicas+1)(s)
			case roll == 11:
				ownReplicaSet(fmt.Sprintf("set-%d", replicas%2), []string{"a", "b"}[replicas%2], replicas)(s)
			case !exists:
				create(name, gated, label, owned)(s)
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
			}
		})
	}
	return steps
}

// readAloud returns "resource version, sequence" for each violation, and how many questions it asked.
func readAloud(history History) (violations []string, asked int) {
	pods := map[string]*podFacts{}
	workloads := map[types.UID]*workloadFacts{}
	var sequences []*sequenceFacts
	passed := map[string]int{}
	for _, e := range history.events {
		switch {
		case e.sequence != nil:
			sequences = append(sequences, e.sequence)
		case e.workload != nil:
			workloads[e.workload.uid] = e.workload
		default:
			before := pods[e.pod.Name]
			bound := e.pod.node != "" && (before == nil || before.node == "") && !e.deleted && !e.pod.terminating
			for _, s := range sequences {
				group := groupAloud(s, e.pod)
				if !bound || group < 0 {
					continue
				}
				asked++
				if group > passed[s.Name] {
					violations = append(violations, e.revision.String()+" "+s.String())
				}
			}
			pods[e.pod.Name] = e.pod
			if e.deleted {
				delete(pods, e.pod.Name)
			}
		}
		for _, s := range sequences {
			for passed[s.Name] < len(s.groups) && satisfiedAloud(s, passed[s.Name], pods, workloads) {
				passed[s.Name]++
			}
		}
	}
	return violations, asked
}

func groupAloud(s *sequenceFacts, p *podFacts) int {
	return slices.IndexFunc(s.groups, func(g groupFacts) bool { return g.takes(p) })
}

// wantedAloud lists the names that a StatefulSet gives its pods.
func wantedAloud(set *workloadFacts, name string) bool {
	var names []string
	for i := range set.expected {
		names = append(names, fmt.Sprintf("%s-%d", set.Name, i))
	}
	return set.kind != "StatefulSet" || slices.Contains(names, name)
}

func satisfiedAloud(s *sequenceFacts, group int, pods map[string]*podFacts, workloads map[types.UID]*workloadFacts) bool {
	g := s.groups[group]
	up := func(p *podFacts) bool { return p != nil && p.ready && !p.terminating }
	for _, name := range g.names {
		if !up(pods[name]) {
			return false
		}
	}
	if g.selector == nil {
		return true
	}
	homeOf := func(set *workloadFacts) int {
		return slices.IndexFunc(s.groups, func(g groupFacts) bool { return g.selector != nil && g.selector.Matches(set.template) })
	}
	asked, have, things, allHave := 0, 0, 0, true
	for uid, set := range workloads {
		if homeOf(set) != group {
			continue
		}
		claimed, got := sets.New[string](), 0
		for _, p := range pods {
			switch at := groupAloud(s, p); {
			case p.owner.uid != uid || p.terminating || p.failed || at < 0 || !wantedAloud(set, p.Name):
			case at < group:
				claimed.Insert(p.Name)
			case at == group && up(p):
				got++
			}
		}
		for _, earlier := range s.groups[:group] {
			for _, name := range earlier.names {
				if set.kind == "StatefulSet" && wantedAloud(set, name) {
					claimed.Insert(name)
				}
			}
		}
		need := max(0, set.expected-claimed.Len())
		things, asked, have, allHave = things+1, asked+need, have+min(need, got), allHave && got >= need
	}
	for _, p := range pods {
		set := workloads[p.owner.uid]
		if groupAloud(s, p) != group || p.terminating || set != nil && homeOf(set) == group || p.owner.uid != "" && p.failed {
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
		return things > 0 && 2*have >= asked
	}
	return things > 0 && allHave
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
