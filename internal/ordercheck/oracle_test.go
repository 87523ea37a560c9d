package ordercheck

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

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
	groups := []sequenceFix{
		named("p0"), named("p1", "p2"), withLabel("tier", "a"), withLabel("tier", "b"), everythingElse,
	}
	random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	first := random.IntN(3)
	steps := []step{
		order("one", groups[:2+first]...),
		order("two", groups[first:]...),
	}
	for range 60 {
		name := fmt.Sprintf("p%d", random.IntN(7))
		label := labelled("tier", []string{"a", "b", "c"}[random.IntN(3)])
		roll := random.IntN(10)
		steps = append(steps, func(s *story) {
			_, exists := s.pods[name]
			switch {
			case !exists:
				create(name, gated, label)(s)
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
			case s.pods[name].Spec.NodeName == "":
				// Only while unbound: a bound pod that moves into a group bears witness there.
				edit(name, label)(s)
			}
		})
	}
	return steps
}

// readAloud returns "resource version, sequence" for each violation, and how many questions it asked.
func readAloud(history History) (violations []string, asked int) {
	pods := map[string]*podFacts{}
	var sequences []*sequenceFacts
	passed := map[string]int{}
	for _, e := range history.events {
		if e.sequence != nil {
			sequences = append(sequences, e.sequence)
			continue
		}
		before := pods[e.pod.Name]
		bound := e.pod.node != "" && (before == nil || before.node == "") && !e.deleted && !e.pod.terminating
		for _, s := range sequences {
			group := slices.IndexFunc(s.groups, func(g groupFacts) bool { return g.takes(e.pod) })
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
		for _, s := range sequences {
			for passed[s.Name] < len(s.groups) && satisfiedAloud(s, passed[s.Name], pods) {
				passed[s.Name]++
			}
		}
	}
	return violations, asked
}

func satisfiedAloud(s *sequenceFacts, group int, pods map[string]*podFacts) bool {
	up := func(p *podFacts) bool { return p != nil && p.ready && !p.terminating }
	for _, name := range s.groups[group].names {
		if !up(pods[name]) {
			return false
		}
	}
	found := len(s.groups[group].names) > 0
	for _, p := range pods {
		first := slices.IndexFunc(s.groups, func(g groupFacts) bool { return g.takes(p) })
		if s.groups[group].selector == nil || first != group || p.terminating {
			continue
		}
		found = true
		if !up(p) {
			return false
		}
	}
	return found
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
