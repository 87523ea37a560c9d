// Package shrink finds out which steps of a plan are not needed for it to fail.
package shrink

import (
	"context"
	"slices"

	"example.com/podsequence/test/prove/plan"
)

// Shrink returns the shortest plan that it finds in the time of the context and that still fails. First it leaves out
// halves of the steps, then quarters, and so on, until no single step can be left out. Steps keep their times, so that what
// is left happens as it did.
func Shrink(ctx context.Context, whole *plan.Plan, fails func(context.Context, *plan.Plan) bool) *plan.Plan {
	steps := whole.Steps
	for size := (len(steps) + 1) / 2; size > 0; {
		shorter, found := leaveOut(ctx, whole, steps, size, fails)
		steps = shorter
		switch {
		case ctx.Err() != nil:
			return whole.With(steps)
		case size > 1:
			size = (size + 1) / 2
		case !found:
			size = 0
		}
	}
	return whole.With(steps)
}

// leaveOut tries to leave out each run of so many steps, the last ones first: what comes late is less often needed.
func leaveOut(
	ctx context.Context, whole *plan.Plan, steps []plan.Step, size int, fails func(context.Context, *plan.Plan) bool,
) (left []plan.Step, found bool) {
	for end := len(steps); end > 0 && ctx.Err() == nil; {
		begin := max(0, end-size)
		without := slices.Concat(steps[:begin], steps[end:])
		if len(without) > 0 && fails(ctx, whole.With(without)) {
			steps, found = without, true
		}
		end = begin
	}
	return steps, found
}
