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
	// Restless are the objects that still changed when the judge stopped looking.
	Restless []string
}

// Settle looks at the world until nothing changes and nothing is wrong, or something was wrong for too long without a break.
func (j *Judge) Settle(ctx context.Context) (Verdict, error) {
	began := time.Now()
	v, wrong := Verdict{}, wrongs{}
	versions, changes := map[string]string{}, changes{}
	for {
		f, err := j.look(ctx)
		if err != nil {
			return v, err
		}
		now := time.Now()
		changes.note(now, versions, f.versions)
		versions = f.versions
		d := expect(f)
		if len(d.broken) > 0 {
			v.Recovery = now.Sub(began)
		}
		v.Asked, v.Restless = d.asked, changes.since(now.Add(-quietFor))
		v.Violations = wrong.since(now, d.broken, j.Patience)
		settled := len(v.Restless) == 0 && len(d.broken) == 0
		if settled || len(v.Violations) > 0 {
			return v, nil
		}
		if now.Sub(began) > 3*j.Patience+quietFor {
			v.Violations = endless(v.Restless)
			return v, nil
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

// endless are violations if nothing changes but our own objects.
func endless(restless []string) (violations []string) {
	for _, name := range restless {
		if kind, _, _ := strings.Cut(name, " "); kind != "PodSequence" && kind != "ClusterPodSequence" {
			return nil
		}
		violations = append(violations, name+" is written without end, though nothing else changes")
	}
	return violations
}

// changes are when objects changed last.
type changes map[string]time.Time

// note notes what has changed, come or gone.
func (c changes) note(now time.Time, before, after map[string]string) {
	for _, versions := range []map[string]string{before, after} {
		for name := range versions {
			if before[name] != after[name] {
				c[name] = now
			}
		}
	}
}

func (c changes) since(when time.Time) (names []string) {
	for name, at := range c {
		if at.After(when) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
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

// String returns a line for each violation, and one for the rest.
func (v Verdict) String() string {
	var out strings.Builder
	for _, violation := range v.Violations {
		fmt.Fprintf(&out, "violation: %s\n", violation)
	}
	fmt.Fprintf(&out, "asked for %d things; recovered in %s", v.Asked, v.Recovery.Round(100*time.Millisecond))
	if len(v.Restless) > 0 {
		fmt.Fprintf(&out, "; at the end there still changed %s", strings.Join(v.Restless, ", "))
	}
	return out.String()
}
