package judge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// lookEvery is how often the world is looked at.
	lookEvery = 500 * time.Millisecond
	// lookTimeout is how long the API server may refuse to show the world.
	lookTimeout = 2 * time.Minute
	// quietFor is how long nothing must have changed until the world is taken for settled. It is longer than any waitDuration,
	// and than the pauses in which our programs try again what was refused.
	quietFor = 6 * time.Second
)

// Judge looks at one world.
type Judge struct {
	API client.Client
	// Label and Value are those of the world's namespaces and nodes.
	Label, Value string
	// Patience is how long something may be wrong after the last fault.
	Patience time.Duration
}

// Verdict is how the world was after the last fault.
type Verdict struct {
	// Violations are what stayed wrong.
	Violations []string
	// Asked is how much had to be so at the end.
	Asked int
	// Recovery is the time from the last fault until nothing was wrong any more.
	Recovery time.Duration
	// Restless says that the world still changed when the judge stopped looking.
	Restless bool
}

// Settle looks at the world until nothing changes and nothing is wrong, or something was wrong for too long without a break.
func (j *Judge) Settle(ctx context.Context) (Verdict, error) {
	began := time.Now()
	v, wrong := Verdict{}, wrongs{}
	versions, changed := "", began
	for {
		f, err := j.look(ctx)
		if err != nil {
			return v, err
		}
		now := time.Now()
		if f.versions != versions {
			versions, changed = f.versions, now
		}
		d := f.expect()
		if len(d.broken) > 0 {
			v.Recovery = now.Sub(began)
		}
		quiet := now.Sub(changed) >= quietFor
		v.Asked, v.Restless = d.asked, !quiet
		v.Violations = wrong.since(now, d.broken, j.Patience)
		settled := quiet && len(d.broken) == 0
		if settled || len(v.Violations) > 0 || now.Sub(began) > 3*j.Patience+quietFor {
			return v, nil
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

// wrongs are what is wrong, and since when without a break.
type wrongs map[string]time.Time

// since takes what is wrong now, and returns what has been for so long.
func (w wrongs) since(now time.Time, broken []string, patience time.Duration) []string {
	for sentence := range w {
		if !slices.Contains(broken, sentence) {
			delete(w, sentence)
		}
	}
	var violations []string
	for _, sentence := range broken {
		if _, already := w[sentence]; !already {
			w[sentence] = now
		}
		if now.Sub(w[sentence]) >= patience {
			violations = append(violations, sentence)
		}
	}
	return violations
}

// look reads the world. An API server that was killed a moment ago may refuse that for a while.
func (j *Judge) look(ctx context.Context) (f *facts, err error) {
	err = wait.PollUntilContextTimeout(ctx, lookEvery, lookTimeout, true, func(ctx context.Context) (bool, error) {
		f, err = gather(ctx, j.API, j.Label, j.Value)
		return err == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("look at the world: %w", err)
	}
	return f, nil
}

// String has a line for each violation, and one for the rest.
func (v Verdict) String() string {
	var out strings.Builder
	for _, violation := range v.Violations {
		fmt.Fprintf(&out, "violation: %s\n", violation)
	}
	fmt.Fprintf(&out, "asked for %d things; recovered in %s", v.Asked, v.Recovery.Round(100*time.Millisecond))
	if v.Restless {
		out.WriteString("; the world still changed at the end")
	}
	return out.String()
}
