package ordercheck

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// judgement is what a story should come to.
type judgement struct {
	steps        []step
	options      JudgeOptions
	wantEarly    []string // the pods bound too early, in order
	wantBindings int
	wantExcused  int
}

func (j judgement) check(t *testing.T) {
	t.Helper()
	verdict := Judge(tell(j.steps...), j.options)
	var early []string
	for _, violation := range verdict.Violations {
		early = append(early, violation.Pod)
	}
	assert.Equal(t, j.wantEarly, early, "pods bound too early:\n%s", verdict)
	assert.Equal(t, j.wantBindings, verdict.Bindings, "bindings judged")
	assert.Equal(t, j.wantExcused, verdict.Excused, "bindings excused")
	assert.Empty(t, verdict.Incomplete)
	assert.Equal(t, len(j.wantEarly) == 0, verdict.Clean())
}

func checkAll(t *testing.T, judgements map[string]judgement) {
	for sentence, j := range judgements {
		t.Run(sentence, func(t *testing.T) { j.check(t) })
	}
}

func TestJudgeFindsPodsBoundTooEarly(t *testing.T) {
	tiers := order("tiers", named("db-0", "db-1"), named("app"))
	checkAll(t, map[string]judgement{
		"a pod bound after all named pods were ready is fine": {
			steps: []step{tiers, create("db-0"), create("db-1"), create("app"),
				bind("db-0"), bind("db-1"), ready("db-0"), ready("db-1"), bind("app")},
			wantBindings: 3,
		},
		"a pod bound while a named pod is missing is early": {
			steps:     []step{tiers, create("db-0"), create("app"), bind("db-0"), ready("db-0"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"a pod bound while a named pod is not ready is early": {
			steps: []step{tiers, create("db-0", onNode, isNow(corev1.ConditionTrue)), create("db-1", onNode),
				create("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 3,
		},
		"a pod bound one resource version before the readiness is early": {
			steps: []step{tiers, create("db-0"), create("db-1"), create("app"),
				ready("db-0"), bind("app"), ready("db-1")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod created with a node is bound": {
			steps:     []step{tiers, create("app", onNode)},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"readiness of all, but never together, passes nothing": {
			steps: []step{tiers, create("db-0"), create("db-1"), create("app"),
				ready("db-0"), unready("db-0"), ready("db-1"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a terminating pod counts as missing": {
			steps: []step{tiers, create("db-0"), create("db-1"), create("app"),
				ready("db-0"), terminate("db-0"), ready("db-1"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a deleted pod counts as missing": {
			steps: []step{tiers, create("db-0"), create("db-1"), create("app"),
				ready("db-0"), remove("db-0"), ready("db-1"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a succeeded pod counts as ready": {
			steps: []step{order("jobs", named("migrate"), named("app")),
				create("migrate"), create("app"), edit("migrate", succeeded), bind("app")},
			wantBindings: 1,
		},
		"a pod that its kubelet ended has not succeeded": {
			steps: []step{order("jobs", named("migrate"), named("app")),
				create("migrate"), create("app"), edit("migrate", endedByKubelet), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"names are whole names": {
			steps: []step{order("prefix", named("db"), named("app")),
				create("db-0", isNow(corev1.ConditionTrue)), create("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod of the same name elsewhere is another": {
			steps: []step{order("one", named("db"), named("app")),
				create("db", inNamespace("other"), isNow(corev1.ConditionTrue)), create("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"matchLabels: a pod bound before any predecessor exists is early": {
			steps: []step{order("labels", withLabel("tier", "db"), withLabel("tier", "app")),
				create("app", labelled("tier", "app")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"matchLabels: a pod bound while one of two is not ready is early": {
			steps: []step{order("labels", withLabel("tier", "db"), withLabel("tier", "app")),
				create("x", labelled("tier", "db")), create("y", labelled("tier", "db")), ready("x"),
				create("app", labelled("tier", "app")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"matchLabels: a pod bound after all are ready is fine": {
			steps: []step{order("labels", withLabel("tier", "db"), withLabel("tier", "app")),
				create("x", labelled("tier", "db")), create("y", labelled("tier", "db")), ready("x"), ready("y"),
				create("app", labelled("tier", "app")), bind("app")},
			wantBindings: 1,
		},
		"In selects the predecessors": {
			steps: []step{order("in", matching("tier", v1alpha1.LabelSelectorOpIn, "db", "cache"), everythingElse),
				create("cache", labelled("tier", "cache")), create("db", labelled("tier", "db")), ready("db"),
				create("app", labelled("tier", "app")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"NotIn selects the predecessors, those without the label too": {
			steps: []step{order("notin", matching("tier", v1alpha1.LabelSelectorOpNotIn, "app"), everythingElse),
				create("bare"), create("db", labelled("tier", "db")), ready("db"),
				create("app", labelled("tier", "app")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"Exists selects the predecessors": {
			steps: []step{order("exists", matching("core", v1alpha1.LabelSelectorOpExists), everythingElse),
				create("db", labelled("core", "")), create("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"DoesNotExist selects the predecessors": {
			steps: []step{order("absent", matching("late", v1alpha1.LabelSelectorOpDoesNotExist), everythingElse),
				create("db"), create("app", labelled("late", "yes")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"an empty selector last waits for all that is named before": {
			steps:     []step{order("rest", named("db"), everythingElse), create("db"), create("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"an empty selector does not take what an earlier group has": {
			steps: []step{order("rest", named("db"), everythingElse, named("tail")),
				create("db"), create("app"), ready("db"), unready("db"), ready("app"), bind("app")},
			wantBindings: 1,
		},
		"the first group that takes a pod has it": {
			steps: []step{order("first", everythingElse, named("app")), create("app"), bind("app")},
			// It is in the first group, so nothing is ahead of it.
			wantBindings: 1,
		},
		"a pod that changes its label changes its group": {
			steps: []step{order("labels", withLabel("tier", "db"), withLabel("tier", "app")),
				create("x", labelled("tier", "db")), edit("x", labelled("tier", "app")), bind("x")},
			wantEarly: []string{"shop/x"}, wantBindings: 1,
		},
		"a pod that leaves a group no longer holds it up": {
			steps: []step{order("labels", withLabel("tier", "db"), withLabel("tier", "app")),
				create("x", labelled("tier", "db")), create("y", labelled("tier", "db")), create("app", labelled("tier", "app")),
				ready("x"), edit("y", labelled()), bind("app")},
			wantBindings: 1,
		},
		"a third group waits for the second, though the first is passed": {
			steps: []step{order("three", named("a"), named("b"), named("c")),
				create("a"), create("b"), create("c"), ready("a"), bind("c"), ready("b")},
			wantEarly: []string{"shop/c"}, wantBindings: 1,
		},
		"a third group waits for the first, though the second is ready": {
			steps: []step{order("three", named("a"), named("b"), named("c")),
				create("a"), create("b"), create("c"), ready("b"), bind("c"), ready("a")},
			wantEarly: []string{"shop/c"}, wantBindings: 1,
		},
		"groups pass in order: a second group ready too soon must still be so later": {
			steps: []step{order("three", named("a"), named("b"), named("c")),
				create("a"), create("b"), create("c"), ready("b"), unready("b"), ready("a"), bind("c")},
			wantEarly: []string{"shop/c"}, wantBindings: 1,
		},
		"a pass is permanent": {
			steps: []step{tiers, create("db-0"), create("db-1"), ready("db-0"), ready("db-1"),
				unready("db-0"), remove("db-1"), create("app"), bind("app")},
			wantBindings: 1,
		},
		"a replacement in a released group is fine": {
			steps: []step{tiers, create("db-0"), create("db-1"), create("app"), ready("db-0"), ready("db-1"),
				bind("app"), unready("db-0"), remove("app"), create("app"), bind("app")},
			wantBindings: 2,
		},
		"a pod that no group takes is not judged": {
			steps: []step{tiers, create("stranger"), bind("stranger")},
		},
		"a pod of another scheduler without the gate is not judged": {
			steps: []step{tiers, create("app", scheduledBy("default-scheduler")), bind("app")},
		},
		"a pod of another scheduler that once carried the gate is judged": {
			steps:     []step{tiers, create("app", scheduledBy("default-scheduler"), gated), release("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"another gate does not make a pod governed": {
			steps: []step{tiers, create("app", scheduledBy("default-scheduler"), gatedBy("example.com/other")),
				release("app"), bind("app")},
		},
		"a gate named in the spec makes a pod governed": {
			steps: []step{order("own", liftingGate("podsequence.example.com/own"), named("db"), named("app")),
				create("app", scheduledBy("default-scheduler"), gatedBy("podsequence.example.com/own")),
				release("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"an ungoverned predecessor must be ready all the same": {
			steps: []step{order("two", named("db"), named("app")),
				create("db", scheduledBy("default-scheduler")), create("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"scheduler names can be given": {
			steps:     []step{tiers, create("app", scheduledBy("mine")), bind("app")},
			options:   JudgeOptions{SchedulerNames: []string{"mine"}},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"pods live in the namespace of the spec": {
			steps: []step{allowing("other", "shop"), order("far", targeting("other"), named("db"), named("app")),
				create("app", inNamespace("other")), bind("app")},
			wantEarly: []string{"other/app"}, wantBindings: 1,
		},
		"another namespace is left out when one is asked for": {
			steps: []step{allowing("other", "shop"), order("far", targeting("other"), named("db"), named("app")),
				create("app", inNamespace("other")), bind("app")},
			options: JudgeOptions{Namespace: "shop"},
		},
		"two sequences must both agree": {
			steps: []step{order("one", named("a"), named("app")), order("two", named("b"), named("app")),
				create("a"), create("b"), create("app"), ready("a"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"two sequences that both agree let a pod go": {
			steps: []step{order("one", named("a"), named("app")), order("two", named("b"), named("app")),
				create("a"), create("b"), create("app"), ready("a"), ready("b"), bind("app")},
			wantBindings: 1,
		},
	})
}

func TestJudgeFollowsEditsOfASequence(t *testing.T) {
	const late = 3 * time.Second
	checkAll(t, map[string]judgement{
		"an edit of an earlier group voids its pass": {
			steps: []step{order("s", named("a"), named("app")), create("a"), ready("a"),
				reorder("s", named("a", "b"), named("app")), create("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"an edited group that is satisfied at once is passed": {
			steps: []step{order("s", named("a"), named("app")), create("a"), create("b"), ready("b"),
				reorder("s", named("b"), named("app")), create("app"), bind("app")},
			wantBindings: 1,
		},
		"an edit of a selector voids the pass": {
			steps: []step{order("s", withLabel("tier", "db"), named("app")),
				create("a", labelled("tier", "db")), ready("a"),
				reorder("s", withLabel("tier", "cache"), named("app")), create("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"appending a group voids nothing": {
			steps: []step{order("s", named("a"), named("app")), create("a"), ready("a"), unready("a"),
				reorder("s", named("a"), named("app"), named("tail")), create("app"), bind("app")},
			wantBindings: 1,
		},
		"an edit of a later group keeps the passes before it": {
			steps: []step{order("s", named("a"), named("b"), named("c")), create("a"), ready("a"), create("b"), ready("b"),
				unready("a"), unready("b"), reorder("s", named("a"), named("b", "x"), named("c")),
				create("x"), bind("x"), create("c"), bind("c")},
			wantEarly: []string{"shop/c"}, wantBindings: 2,
		},
		"another order of the same names voids nothing": {
			steps: []step{order("s", named("a", "b"), named("app")), create("a"), create("b"), ready("a"), ready("b"),
				unready("a"), reorder("s", named("b", "a"), named("app")), create("app"), bind("app")},
			wantBindings: 1,
		},
		"pointing at another namespace voids everything": {
			steps: []step{allowing("other", "shop"), order("s", named("a"), named("app")), create("a"), ready("a"),
				reorder("s", targeting("other"), named("a"), named("app")),
				create("app", inNamespace("other")), bind("app")},
			wantEarly: []string{"other/app"}, wantBindings: 1,
		},
		"a sequence that an edit points at the namespace judged is known there": {
			steps: []step{order("s", targeting("other"), named("a"), named("app")), reorder("s", named("a"), named("app")),
				create("app"), bind("app")},
			options:   JudgeOptions{Namespace: "shop"},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a status update is no edit": {
			steps: []step{order("s", named("a"), named("app")), create("app"),
				passing(late), report("s"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"passes that the controller records during the watch are not believed": {
			steps: []step{order("s", named("a"), named("app")), create("app"),
				report("s", recordedPassed(1)), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"nor are those in the map of passes": {
			steps: []step{order("s", named("a"), named("app")), create("app"),
				report("s", withPasses(itsOwn, 1)), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod bound before an edit proves nothing about the groups that the edit puts ahead of it": {
			steps: []step{order("s", named("app")), create("app"), bind("app"),
				reorder("s", named("a"), withLabel("tier", "app"), named("app", "app-2")), create("app-2"), bind("app-2")},
			wantEarly: []string{"shop/app-2"}, wantBindings: 2,
		},
		"a pod bound too early proves nothing": {
			steps: []step{order("s", named("a"), everythingElse), create("app"), bind("app"),
				create("app-2"), bind("app-2")},
			wantEarly: []string{"shop/app", "shop/app-2"}, wantBindings: 2,
		},
		"deleting a sequence frees its pods": {
			steps: []step{order("s", named("a"), named("app")), create("app"), disband("s"), bind("app")},
		},
		"a sequence made again under the same name starts from nothing": {
			steps: []step{order("s", named("a"), named("app")), create("a"), ready("a"), unready("a"), disband("s"),
				order("s", named("a"), named("app")), create("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
	})
}

func TestJudgeAllowsForRaces(t *testing.T) {
	appears := order("s", named("a"), named("app"))
	checkAll(t, map[string]judgement{
		"a pod older than the sequence may be bound within two seconds": {
			steps:        []step{create("app"), appears, passing(tolerance - 10*time.Millisecond), bind("app")},
			wantBindings: 1, wantExcused: 1,
		},
		"after two seconds it may not": {
			steps:     []step{create("app"), appears, passing(tolerance), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod younger than the sequence may not": {
			steps:     []step{appears, create("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod with the gate may not": {
			steps:     []step{create("app", gated), appears, release("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"nor a pod with another gate: it could not be bound before either": {
			steps:     []step{create("app", gatedBy("example.com/other")), appears, release("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod younger than the sequence may start before anybody has seen that, where that is excused": {
			steps:        []step{appears, create("app"), bind("app")},
			options:      JudgeOptions{ExcusesUnseen: true},
			wantBindings: 1, wantExcused: 1,
		},
		"not when it was created with a gate": {
			steps:     []step{appears, create("app", gated), release("app"), bind("app")},
			options:   JudgeOptions{ExcusesUnseen: true},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"nor when it names its sequence": {
			steps:     []step{appears, create("app", labelled("podsequence.example.com/sequence", "s")), bind("app")},
			options:   JudgeOptions{ExcusesUnseen: true},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"nor three seconds later": {
			steps:     []step{appears, passing(3 * time.Second), create("app"), bind("app")},
			options:   JudgeOptions{ExcusesUnseen: true},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod whose gate was gone may, as if it had had none": {
			steps:        []step{create("app", gated), release("app"), appears, bind("app")},
			wantBindings: 1, wantExcused: 1,
		},
		"a pod older than an edit may go by the spec before": {
			steps: []step{appears, create("a"), ready("a"), create("app"),
				reorder("s", named("b"), named("app")), bind("app")},
			wantBindings: 1, wantExcused: 1,
		},
		"what the spec before did not allow is early all the same": {
			steps: []step{appears, create("app"), passing(3 * time.Second),
				reorder("s", named("b"), named("app")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"the spec before may still come to allow it": {
			steps: []step{appears, create("a"), create("app"), passing(3 * time.Second),
				reorder("s", named("b"), named("app")), ready("a"), bind("app")},
			wantBindings: 1, wantExcused: 1,
		},
		"a pod older than two quick edits may go by the spec before both": {
			steps: []step{appears, create("a"), ready("a"), create("app"), reorder("s", named("b"), named("app")),
				reorder("s", named("c"), named("app")), bind("app")},
			wantBindings: 1, wantExcused: 1,
		},
		"a pod made between two quick edits may not go by the spec before both": {
			steps: []step{appears, create("a"), ready("a"), reorder("s", named("b"), named("app")), create("app"),
				reorder("s", named("c"), named("app")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a sequence made again under the same name is new to the pods": {
			steps:        []step{appears, create("app"), disband("s"), order("s", named("a"), named("app")), bind("app")},
			wantBindings: 1, wantExcused: 1,
		},
		"a sequence that is new excuses nothing that another one holds": {
			steps:     []step{order("old", named("b"), named("app")), create("app"), appears, bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
	})
}
