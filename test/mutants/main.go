// Command mutants makes small wrong changes to the product, one at a time, and runs tests that must notice. A change that nobody
// notices either shows that a test is missing, or changes nothing; the list says which.
//
// The source is not touched: Go compiles each change from a copy of one file (go test -overlay).
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// errNotAsListed is that some mutants did not end as the list says.
var errNotAsListed = errors.New("not all mutants ended as the list says")

const usage = `mutants makes small wrong changes in the code, one at a time, and reports which of them the tests notice.

Examples:
  mutants                           make all changes
  mutants -only pkg/record          make the changes in one package

Flags:
`

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	only := flags.String("only", "", "make only the changes with this `text` in their package or description")
	page := flags.String("page", "", "page, such as docs/proof/long-runs.md, in which to write the results if all changes were made")
	commit := flags.String("commit", "", "`commit` of the code, for the page")
	directory := flags.String("dir", ".mutants", "`directory` for results; a change is judged again only after its file has changed")
	parallel := flags.Int("parallel", 2, "`number` of changes to judge at the same time")
	timeout := flags.Duration("timeout", 3*time.Minute, "longest time for the tests of one change, such as 3m")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var chosen []mutant
	for _, m := range mutants() {
		if strings.Contains(m.String(), *only) {
			chosen = append(chosen, m)
		}
	}
	begin := time.Now()
	results, err := judgeAll(ctx, chosen, *parallel, &judging{kept{*directory}, *timeout, out})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, in %s\n", summary(results), time.Since(begin).Round(time.Second))
	if *page != "" && *only == "" {
		if err := writePage(*page, *commit, results, time.Now()); err != nil {
			return err
		}
	}
	for _, r := range results {
		if !r.isAsListed() {
			return errNotAsListed
		}
	}
	return nil
}

// judging is how mutants are judged.
type judging struct {
	kept    kept
	timeout time.Duration
	out     io.Writer
}

// judgeAll judges some mutants at a time, and returns their results in order. One that cannot be judged, for instance because it does not
// compile any more, keeps no other from it.
func judgeAll(ctx context.Context, all []mutant, parallel int, j *judging) ([]result, error) {
	results := make([]result, len(all))
	lines := make(chan string)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for line := range lines {
			fmt.Fprintln(j.out, line)
		}
	}()
	errs := make([]error, len(all))
	for i, m := range all {
		group.Go(func() (err error) {
			if results[i], err = j.one(ctx, m); err != nil {
				errs[i] = fmt.Errorf("mutant %d of %d, %s: %w", i+1, len(all), m, err)
				return context.Cause(ctx)
			}
			lines <- fmt.Sprintf("%3d/%d %s: %s", i+1, len(all), m, results[i])
			return nil
		})
	}
	err := group.Wait()
	close(lines)
	<-done
	return results, cmp.Or(err, errors.Join(errs...))
}

// one judges a mutant, unless its result is known.
func (j *judging) one(ctx context.Context, m mutant) (result, error) {
	if err := ctx.Err(); err != nil {
		return result{}, context.Cause(ctx)
	}
	file, text, err := m.changed()
	if err != nil {
		return result{}, err
	}
	if caughtBy, known := j.kept.load(text); known {
		return result{mutant: m, caughtBy: caughtBy}, nil
	}
	caughtBy, err := m.judged(ctx, file, text, j.timeout)
	if err != nil {
		return result{}, err
	}
	r := result{mutant: m, caughtBy: caughtBy}
	if !r.isAsListed() {
		return r, nil // whoever writes the test that is missing wants to see it
	}
	return r, j.kept.store(text, caughtBy)
}
