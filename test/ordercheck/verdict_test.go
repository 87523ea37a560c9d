package ordercheck

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestViolationSaysWhatWasLacking(t *testing.T) {
	tiers := order("s", group(v1alpha1.PodGroup{Name: "Database", Pods: []string{"db-0", "db-1"}}), named("app"))
	selected := order("s", withLabel("tier", "db"), named("app"))
	db := labelled("tier", "db")
	tests := map[string]struct {
		steps []step
		want  string
	}{
		"a pod that never existed": {
			steps: []step{tiers, create("db-0", isNow(corev1.ConditionTrue))},
			want:  "1 of 2 pods ready at best; db-1 had never existed",
		},
		"a pod that is gone and one that is terminating": {
			steps: []step{tiers, create("db-0"), create("db-1"), remove("db-0"), terminate("db-1")},
			want:  "0 of 2 pods ready at best; db-0 was gone, db-1 was terminating",
		},
		"a pod that was ready before another was": {
			steps: []step{tiers, create("db-0"), create("db-1"), ready("db-0"), unready("db-0")},
			want:  "1 of 2 pods ready at best; db-0 was no longer ready, db-1 had never been ready",
		},
		"pods that never matched": {
			steps: []step{selected},
			want:  "no pod had matched it",
		},
		"pods that match no longer": {
			steps: []step{selected, create("x", db), remove("x")},
			want:  "0 of 1 pods ready at best; now no pod matches it",
		},
		"the first few of many": {
			steps: []step{selected, create("a", db), create("b", db), create("c", db), create("d", db), create("e", db),
				create("f", db), create("g", db)},
			want: "0 of 7 pods ready at best; a had never been ready, b had never been ready, c had never been ready, " +
				"d had never been ready, e had never been ready, and 2 more",
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			verdict := Judge(tell(append(test.steps, create("app"), bind("app"))...), JudgeOptions{})
			require.Len(t, verdict.Violations, 1)
			assert.Equal(t, test.want, verdict.Violations[0].Reason)
		})
	}
}

func TestVerdictTellsPeopleAndPrograms(t *testing.T) {
	history := tell(
		order("s", group(v1alpha1.PodGroup{Name: "Database", Pods: []string{"db-0"}}), named("app")),
		create("app"), bind("app"))
	history.gaps = []string{"watch of pods was stopped"}
	verdict := Judge(history, JudgeOptions{})

	assert.Equal(t, `violation: pod shop/app was bound to node node-1 at 03:04:05.030 (resource version 3), `+
		`but it is in group 2/2 "Group 2" of PodSequence shop/s, and group 1/2 "Database" had not been ready: `+
		`0 of 1 pods ready at best; db-0 had never existed
incomplete: watch of pods was stopped
judged 1 binding of 1 sequence over 3 events: 1 violation; incomplete, so this is no clean verdict`, verdict.String())

	text, err := json.Marshal(verdict)
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"resourceVersion": "3",
		"violations": [{
			"pod": "shop/app", "podUID": "app-1", "node": "node-1", "resourceVersion": "3",
			"time": "2026-01-02T03:04:05.03Z", "kind": "PodSequence", "sequence": "shop/s",
			"group": {"index": 1, "name": "Group 2"}, "awaited": {"index": 0, "name": "Database"},
			"reason": "0 of 1 pods ready at best; db-0 had never existed"
		}],
		"incomplete": ["watch of pods was stopped"],
		"bindings": 1, "sequences": 1, "events": 3, "boundBefore": 0, "assumedPasses": 0, "excused": 0
	}`, string(text))
}

func TestVerdictHasAnExitCode(t *testing.T) {
	tests := map[string]struct {
		verdict Verdict
		want    int
	}{
		"nothing found is clean":                  {Verdict{}, ExitClean},
		"a violation is one":                      {Verdict{Violations: make([]Violation, 1)}, ExitViolation},
		"a gap is never clean":                    {Verdict{Incomplete: []string{"gap"}}, ExitIncomplete},
		"a violation stays one beside a gap":      {Verdict{Violations: make([]Violation, 1), Incomplete: []string{"gap"}}, ExitViolation},
		"assumptions are reported and are no gap": {Verdict{BoundBefore: 1, AssumedPasses: 1, Excused: 1}, ExitClean},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			assert.Equal(t, test.want, test.verdict.ExitCode())
		})
	}
}

func TestVerdictRemarksOnWhatItTookForGranted(t *testing.T) {
	verdict := Verdict{Bindings: 4, Sequences: 1, Events: 231, BoundBefore: 3, AssumedPasses: 1, Excused: 2}
	assert.Equal(t, "judged 4 bindings of 1 sequence over 231 events: 0 violations; 3 pods bound before the watch began; "+
		"1 pass assumed; 2 bindings excused as racing with their sequence", verdict.String())
}

func TestAViolationSaysWhetherItRacedWithItsSequence(t *testing.T) {
	tiers := order("tiers", named("db"), named("app"))
	foreign := create("app", scheduledBy("default-scheduler"), gated)
	for sentence, tc := range map[string]struct {
		steps []step
		raced bool
	}{
		"a pod that lost its gate at once after its sequence came, whenever it was bound": {
			[]step{foreign, tiers, release("app"), passing(4 * time.Second), bind("app")}, true},
		"a pod that was created after its sequence":     {[]step{tiers, foreign, release("app"), bind("app")}, false},
		"a pod that has no gate, but is too long there": {[]step{create("app"), tiers, passing(4 * time.Second), bind("app")}, false},
		"a pod of ours whose gate was lifted as its sequence came: it can still be held": {
			[]step{create("app", gated), tiers, release("app"), bind("app")}, false},
		"a pod that lost its gate at once after its sequence came, in scope Node": {
			[]step{node("node-1"), foreign, order("tiers", perNode, named("db"), named("app")), release("app"), bind("app")}, true},
		"a pod that lost its gate at once after an edit": {
			[]step{foreign, order("tiers", named("app")), passing(4 * time.Second), reorder("tiers", named("db"), named("app")), release("app"), bind("app")}, true},
		"a pod that lost its gate long after, whenever it was bound": {
			[]step{foreign, tiers, passing(4 * time.Second), release("app"), bind("app")}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			verdict := Judge(tell(tc.steps...), JudgeOptions{})
			require.Len(t, verdict.Violations, 1)
			assert.Equal(t, tc.raced, verdict.Violations[0].Raced)
		})
	}
}
