package ordercheck

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func mustHaveStarted(g *v1alpha1.PodGroup) { g.RequiredStatus = v1alpha1.RequireStarted }

const reachable = "example.com/Reachable"

func mustBeReachable(g *v1alpha1.PodGroup) { g.RequiredCondition = reachable }

// run makes the container of a pod one that started now.
func run(name string) step {
	return func(s *story) {
		edit(name, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses = []corev1.ContainerStatus{
				{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: s.whole()}}},
			}
		})(s)
	}
}

// say sets a condition of a pod now.
func say(name string, status corev1.ConditionStatus) step {
	return func(s *story) {
		edit(name, func(p *corev1.Pod) {
			p.Status.Conditions = append([]corev1.PodCondition{}, p.Status.Conditions...)
			for i, c := range p.Status.Conditions {
				if c.Type == reachable {
					p.Status.Conditions[i].Status, p.Status.Conditions[i].LastTransitionTime = status, s.whole()
					return
				}
			}
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: reachable, Status: status, LastTransitionTime: s.whole()})
		})(s)
	}
}

func failedPod(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

func TestJudgeWantsMembersToHaveStarted(t *testing.T) {
	shop := order("s", tier("leader", mustHaveStarted), named("app"))
	leader := create("leader", labelled("tier", "leader"))
	after := func(delay time.Duration) step { return several(passing(delay), create("app"), bind("app")) }
	early, options := []string{"shop/app"}, JudgeOptions{UnprobedReady: 5 * time.Second}
	checkAll(t, map[string]judgement{
		"it has not": {options: options, steps: []step{shop, leader, after(0)}, wantEarly: early, wantBindings: 1},
		"it has":     {options: options, steps: []step{shop, leader, run("leader"), after(0)}, wantBindings: 1},
		"it has succeeded": {
			options: options, steps: []step{shop, leader, edit("leader", succeeded), after(0)}, wantBindings: 1,
		},
		"it had, and failed before": {
			steps:     []step{order("s", continuously, tier("leader", mustHaveStarted), named("app")), leader, run("leader"), edit("leader", failedPod), after(4 * time.Second)},
			wantEarly: early, wantBindings: 1,
		},
		"a wait counts from when it started": {
			steps:     []step{order("s", tier("leader", mustHaveStarted, waiting("10s")), named("app")), leader, run("leader"), after(5 * time.Second)},
			wantEarly: early, wantBindings: 1,
		},
		"the wait is over": {
			steps:        []step{order("s", tier("leader", mustHaveStarted, waiting("10s")), named("app")), leader, run("leader"), after(12 * time.Second)},
			wantBindings: 1,
		},
		"the wait begins anew when its container does": {
			steps: []step{
				order("s", tier("leader", mustHaveStarted, waiting("10s")), named("app")), leader, run("leader"), passing(7 * time.Second), run("leader"), after(5 * time.Second),
			},
			wantEarly: early, wantBindings: 1,
		},
	})
}

func TestJudgeWantsMembersToHaveACondition(t *testing.T) {
	shop := order("s", tier("db", mustBeReachable), named("app"))
	again := order("s", continuously, tier("db", mustBeReachable), named("app"))
	db := create("db", labelled("tier", "db"))
	after := func(delay time.Duration) step { return several(passing(delay), create("app"), bind("app")) }
	early, options := []string{"shop/app"}, JudgeOptions{UnprobedReady: 5 * time.Second}
	checkAll(t, map[string]judgement{
		"it is ready, and has not": {steps: []step{shop, db, ready("db"), after(0)}, wantEarly: early, wantBindings: 1},
		"it has, and is not ready": {options: options, steps: []step{shop, db, say("db", corev1.ConditionTrue), after(0)}, wantBindings: 1},
		"it has it, but False":     {steps: []step{shop, db, say("db", corev1.ConditionFalse), after(0)}, wantEarly: early, wantBindings: 1},
		"it had it once, and that passed": {
			steps: []step{shop, db, say("db", corev1.ConditionTrue), say("db", corev1.ConditionFalse), after(4 * time.Second)}, wantBindings: 1,
		},
		"it must have it now": {
			steps:     []step{again, db, say("db", corev1.ConditionTrue), passing(4 * time.Second), say("db", corev1.ConditionFalse), after(4 * time.Second)},
			wantEarly: early, wantBindings: 1,
		},
		"another condition now": {
			steps: []step{shop, db, ready("db"), reorder("s", tier("db", func(g *v1alpha1.PodGroup) { g.RequiredCondition = "Ready" }), named("app")), after(0)}, wantBindings: 1,
		},
	})
}

func TestAPassHoldsForWhatWasAskedOnly(t *testing.T) {
	plain, err := readGroup(&v1alpha1.PodGroup{Pods: []string{"a"}}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]v1alpha1.PodGroup{
		"that members have started": {Pods: []string{"a"}, RequiredStatus: v1alpha1.RequireStarted},
		"a condition":               {Pods: []string{"a"}, RequiredStatus: v1alpha1.RequireReady, RequiredCondition: reachable},
	} {
		asks, err := readGroup(&g, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if asks.asks() == plain.asks() {
			t.Errorf("%s: the same is asked as that members are ready", name)
		}
	}
}
