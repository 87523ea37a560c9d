package ordercheck

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestJudgeBelievesTheStartOfTheWatch(t *testing.T) {
	tiers := several(order("tiers", named("db"), named("app-0", "app-1"), named("web")), report("tiers", recordedHashes))
	tests := map[string]struct {
		steps           []step
		wantEarly       []string
		wantBoundBefore int
		wantAssumed     int
	}{
		"what was bound before is counted, not judged": {
			steps:           []step{tiers, create("app-0"), bind("app-0"), watchBegins},
			wantBoundBefore: 1,
		},
		"a pod that was bound proves nothing about the groups ahead of it": {
			steps: []step{tiers, create("app-0", onNode), watchBegins,
				create("app-1"), bind("app-1")},
			wantEarly: []string{"shop/app-1"}, wantBoundBefore: 1,
		},
		"a pod that nobody could hold proves nothing": {
			steps: []step{tiers, create("app-0", onNode, scheduledBy("default-scheduler")), watchBegins,
				create("app-1"), bind("app-1")},
			wantEarly: []string{"shop/app-1"},
		},
		"a pod that was not bound proves nothing": {
			steps:     []step{tiers, create("app-0"), watchBegins, bind("app-0")},
			wantEarly: []string{"shop/app-0"},
		},
		"a group satisfied at the start needs no belief": {
			steps: []step{tiers, create("db", onNode, isNow(corev1.ConditionTrue)), create("app-0"), watchBegins,
				unready("db"), bind("app-0")},
			wantBoundBefore: 1,
		},
		"a pass on record before is believed": {
			steps:       []step{tiers, report("tiers", recordedPassed(2)), watchBegins, create("web"), bind("web")},
			wantAssumed: 2,
		},
		"a pass of the sequence under the hash of the group is believed": {
			steps:       []step{tiers, report("tiers", withPasses(itsOwn, 2)), watchBegins, create("web"), bind("web")},
			wantAssumed: 2,
		},
		"a pass of a group shows nothing of those behind it": {
			steps:     []step{tiers, report("tiers", withPasses(itsOwn, 1)), watchBegins, create("web"), bind("web")},
			wantEarly: []string{"shop/web"}, wantAssumed: 1,
		},
		"a pass of another sequence of the name is not": {
			steps:     []step{tiers, report("tiers", withPasses(another, 2)), watchBegins, create("web"), bind("web")},
			wantEarly: []string{"shop/web"},
		},
		"a pass under a hash that is no group's is not": {
			steps: []step{tiers, report("tiers", withPasses(itsOwn, 2), func(s *v1alpha1.PodSequence) {
				s.Status.Groups[0].Hash, s.Status.Groups[1].Hash = "other", ""
			}), watchBegins, create("web"), bind("web")},
			wantEarly: []string{"shop/web"},
		},
		"a pass under a hash that status has of an older spec is not": {
			steps: []step{tiers, report("tiers", withPasses(itsOwn, 2)),
				reorder("tiers", named("x"), named("web")), watchBegins, create("web"), bind("web")},
			wantEarly: []string{"shop/web"},
		},
		"a pass on record for an older spec is not": {
			steps: []step{tiers, report("tiers", recordedPassed(2)),
				reorder("tiers", named("x"), named("web")), watchBegins, create("web"), bind("web")},
			wantEarly: []string{"shop/web"},
		},
		"a pass believed is voided by an edit like any other": {
			steps: []step{tiers, report("tiers", recordedPassed(2)), watchBegins,
				reorder("tiers", named("x"), named("app-0", "app-1"), named("web")), create("web"), bind("web")},
			wantEarly: []string{"shop/web"}, wantAssumed: 2,
		},
		"nothing races with a sequence older than the watch": {
			steps:     []step{create("web"), tiers, watchBegins, bind("web")},
			wantEarly: []string{"shop/web"},
		},
		"half of what was there shows nothing": {
			// After its first pod the selector looks satisfied, until the second is read.
			steps: []step{order("half", withLabel("tier", "db"), named("web")),
				create("x", labelled("tier", "db"), isNow(corev1.ConditionTrue)), create("y", labelled("tier", "db")),
				watchBegins, create("web"), bind("web")},
			wantEarly: []string{"shop/web"},
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			verdict := Judge(tell(test.steps...), JudgeOptions{})
			var early []string
			for _, violation := range verdict.Violations {
				early = append(early, violation.Pod)
			}
			assert.Equal(t, test.wantEarly, early)
			assert.Equal(t, test.wantBoundBefore, verdict.BoundBefore, "bound before")
			assert.Equal(t, test.wantAssumed, verdict.AssumedPasses, "assumed passes")
		})
	}
}

func TestJudgeSaysWhatItCannotJudge(t *testing.T) {
	tests := map[string]struct {
		fix  sequenceFix
		want string
	}{
		"a scope it does not know": {
			fix:  func(s *v1alpha1.PodSequence) { s.Spec.Scope = "Galaxy" },
			want: "PodSequence shop/s: scope Galaxy is not known to the referee",
		},
		"a group without members": {
			fix:  group(v1alpha1.PodGroup{}),
			want: `PodSequence shop/s: group 1/1 "Group 1" must have either pods or podSelector`,
		},
		"a selector that cannot be read": {
			fix: matching("tier", "Near"),
			want: `PodSequence shop/s: read podSelector of group 1/1 "Group 1": ` +
				`"Near" is not a valid label selector operator`,
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			verdict := Judge(tell(order("s", test.fix)), JudgeOptions{})
			assert.Equal(t, []string{test.want}, verdict.Incomplete)
			assert.Equal(t, ExitIncomplete, verdict.ExitCode())
		})
	}
}
