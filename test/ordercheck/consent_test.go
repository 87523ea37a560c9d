package ordercheck

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestJudgeAsksForConsent(t *testing.T) {
	far := order("far", livingIn("ops"), named("db"), named("app"), named("web"))
	tests := map[string]struct {
		steps       []step
		wantEarly   []string
		wantExcused int
		wantAssumed int
	}{
		"without consent a sequence of another namespace asks nothing": {
			steps: []step{allowing("shop", ""), far, create("app"), bind("app")},
		},
		"in a namespace that was never seen neither": {
			steps: []step{far, create("app"), bind("app")},
		},
		"with consent it does": {
			steps:     []step{allowing("shop", "ops"), far, create("app"), bind("app")},
			wantEarly: []string{"shop/app"},
		},
		"so it does with consent for all": {
			steps:     []step{allowing("shop", "*"), far, create("app"), bind("app")},
			wantEarly: []string{"shop/app"},
		},
		"and with one of several": {
			steps:     []step{allowing("shop", "dev , ops"), far, create("app"), bind("app")},
			wantEarly: []string{"shop/app"},
		},
		"consent for another namespace is none": {
			steps: []step{allowing("shop", "ops-2,o,ps"), far, create("app"), bind("app")},
		},
		"a sequence of the namespace itself needs none": {
			steps:     []step{allowing("shop", ""), order("near", named("db"), named("app")), create("app"), bind("app")},
			wantEarly: []string{"shop/app"},
		},
		"consent that was there when the watch began counts": {
			steps:     []step{allowing("shop", "ops"), far, watchBegins, create("app"), bind("app")},
			wantEarly: []string{"shop/app"},
		},
		"no consent when the watch began counts too": {
			steps: []step{allowing("shop", ""), far, watchBegins, create("app"), bind("app")},
		},
		"consent that comes later counts for pods that come after it": {
			steps:     []step{far, allowing("shop", "ops"), create("app"), bind("app")},
			wantEarly: []string{"shop/app"},
		},
		"a pod that is older than consent may be on its way": {
			steps:       []step{far, create("app"), allowing("shop", "ops"), bind("app")},
			wantExcused: 1,
		},
		"but not for long": {
			steps:     []step{far, create("app"), allowing("shop", "ops"), passing(3 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"},
		},
		"and not with a gate": {
			steps:     []step{far, create("app", gated), allowing("shop", "ops"), bind("app")},
			wantEarly: []string{"shop/app"},
		},
		"consent that is withdrawn counts at once": {
			steps: []step{allowing("shop", "ops"), far, create("app"), allowing("shop", "dev"), bind("app")},
		},
		"with the namespace consent is gone": {
			steps: []step{allowing("shop", "ops"), far, create("app"), abolish("shop"), bind("app")},
		},
		"what was passed before consent was withdrawn stays passed": {
			steps: []step{allowing("shop", "ops"), far, create("db", onNode), ready("db"), allowing("shop", ""), passing(time.Minute),
				unready("db"), allowing("shop", "ops"), create("app"), bind("app"), create("web"), bind("web")},
			wantEarly: []string{"shop/web"},
		},
		"what would have been passed without consent is not": {
			steps: []step{allowing("shop", "ops"), far, create("db", onNode), allowing("shop", ""), passing(time.Minute),
				ready("db"), unready("db"), allowing("shop", "ops"), create("app"), bind("app")},
			wantEarly: []string{"shop/app"},
		},
		"what was passed a moment after may be recorded by a program that did not know yet": {
			steps: []step{allowing("shop", "ops"), far, create("db", onNode), allowing("shop", ""),
				ready("db"), unready("db"), allowing("shop", "ops"), create("app"), bind("app")},
		},
		"an edit without consent counts when that comes": {
			steps: []step{far, reorder("far", livingIn("ops"), named("web"), named("app")), allowing("shop", "ops"),
				create("app"), bind("app")},
			wantEarly: []string{"shop/app"},
		},
		"a sequence that is gone without consent stays gone": {
			steps: []step{far, disband("far"), allowing("shop", "ops"), create("app"), bind("app")},
		},
		"what status recorded before the watch counts when consent comes": {
			steps: []step{far, report("far", recordedPassed(1)), watchBegins, allowing("shop", "ops"),
				create("app"), bind("app"), create("web"), bind("web")},
			wantEarly: []string{"shop/web"}, wantAssumed: 1,
		},
		"a time-out counts from consent": {
			steps: []step{order("far", livingIn("ops"), tier("db", timingOut("10s", v1alpha1.TimeoutContinue)), named("app")), passing(time.Minute), allowing("shop", "ops"),
				passing(5 * time.Second), create("app"), bind("app")},
			wantEarly: []string{"shop/app"},
		},
		"and is over in its time": {
			steps: []step{order("far", livingIn("ops"), tier("db", timingOut("10s", v1alpha1.TimeoutContinue)), named("app")), passing(time.Minute), allowing("shop", "ops"),
				passing(12 * time.Second), create("app"), bind("app")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			verdict := Judge(tell(test.steps...), JudgeOptions{})
			var early []string
			for _, v := range verdict.Violations {
				early = append(early, v.Pod)
			}
			assert.Equal(t, test.wantEarly, early, verdict)
			assert.Equal(t, test.wantExcused, verdict.Excused, verdict)
			assert.Equal(t, test.wantAssumed, verdict.AssumedPasses, verdict)
		})
	}
}
