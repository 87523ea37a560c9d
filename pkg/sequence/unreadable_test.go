package sequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
)

func TestWhatCannotBeReadIsNeverReady(t *testing.T) {
	tests := map[string]struct {
		unreadable   []order.Unreadable
		held, mayGo  []string
		wantCurrent  int
		wantProblems []string
	}{
		"from a group on": {
			unreadable: []order.Unreadable{{Group: 1, Message: "spec.podGroups[1]: odd"}},
			mayGo:      []string{"one", "two"}, held: []string{"three"}, wantCurrent: 1,
			wantProblems: []string{"spec.podGroups[1]: odd"},
		},
		"for a field of the spec, from the first group on": {
			unreadable: []order.Unreadable{{Group: 0, Message: "spec.scope: odd"}},
			mayGo:      []string{"one"}, held: []string{"two", "three"}, wantCurrent: 0,
			wantProblems: []string{"spec.scope: odd"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			for _, pod := range []string{"one", "two"} {
				engine.ApplyPod(makePod(pod, "1").Phase("Succeeded").Obj())
			}
			engine.ApplySequence(shop().Obj(), test.unreadable...)
			for _, pod := range test.mayGo {
				assert.False(t, engine.Decide(makePod(pod, "2").Obj()).Held, pod)
			}
			for _, pod := range test.held {
				assert.True(t, engine.Decide(makePod(pod, "2").Obj()).Held, pod)
			}
			report, ok := engine.Report(shopKey)
			require.True(t, ok)
			assert.Equal(t, test.wantCurrent, report.Current)
			var problems []string
			for _, p := range report.Problems {
				assert.Equal(t, v1alpha1.ReasonInvalidSpec, p.Reason)
				problems = append(problems, p.Message)
			}
			assert.Equal(t, test.wantProblems, problems)
		})
	}
	t.Run("a sequence without groups is not completed", func(t *testing.T) {
		engine := newEngine()
		without := shop()
		without.Spec.PodGroups = nil
		engine.ApplySequence(without.Obj())
		report, ok := engine.Report(shopKey)
		require.True(t, ok)
		assert.False(t, report.Completed())
		require.Len(t, report.Problems, 1)
		assert.Contains(t, report.Problems[0].Message, "spec.podGroups must have 1 to 64 groups")
	})
}
