package shrink

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/test/prove/plan"
)

func steps(count int) *plan.Plan {
	p := &plan.Plan{Seed: 7}
	for i := range count {
		p.Steps = append(p.Steps, plan.Step{At: time.Duration(i), Verb: plan.Kill, Args: []string{strconv.Itoa(i)}})
	}
	return p
}

func has(p *plan.Plan, names ...string) bool {
	for _, name := range names {
		if !slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Args[0] == name }) {
			return false
		}
	}
	return true
}

func TestOnlyTheStepsThatAreNeededAreLeft(t *testing.T) {
	for sentence, needed := range map[string][]string{
		"one step": {"13"}, "two steps far from each other": {"2", "37"}, "the first and the last": {"0", "40"},
	} {
		t.Run(sentence, func(t *testing.T) {
			short := Shrink(t.Context(), steps(41), func(_ context.Context, p *plan.Plan) bool { return has(p, needed...) })
			assert.Len(t, short.Steps, len(needed))
			assert.True(t, has(short, needed...))
			assert.EqualValues(t, 7, short.Seed)
		})
	}
}

func TestShrinkingEndsWithItsTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tried := 0
	short := Shrink(ctx, steps(40), func(_ context.Context, p *plan.Plan) bool {
		if tried++; tried == 2 {
			cancel()
		}
		return has(p, "3")
	})
	assert.Equal(t, 2, tried)
	assert.True(t, has(short, "3"))
}
